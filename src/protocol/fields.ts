import { Type } from "@sinclair/typebox";
import { describe, Timestamp } from "./wire.ts";

/** Described fields that several bodies have. */

export const Detail = Type.String({ description: "what happened, in one sentence" });
export const TrackedAgentId = Type.String({ description: "canonical id of the agent" });
export const ToolName = Type.String({ description: "which CLI the agent runs" });
export const Success = Type.Boolean({ description: "whether the operation was carried out" });
export const InstanceEpoch = Type.Integer({
  description: "number of the agent's instance; a new instance has the next number",
});
export const AgentName = Type.String({ description: "name of the agent; null when it has none" });
export const AgentId = Type.String({ description: "stable id of the agent; null when it has none" });
export const QueueDepth = Type.Integer({ minimum: 0, description: "requests accepted or running" });
export const RequestId = Type.String({ description: "id of the request" });
export const ManifestPath = Type.String({ description: "absolute path of the session's manifest.json" });
export const SessionRoot = Type.String({ description: "absolute path of the session's folder" });
export const BackendName = Type.String({
  description: "how the agent runs: local_interactive, or <tool>_headless",
});
export const PrincipalId = Type.String({ description: "id of the mailbox's owner" });
export const MailAddress = Type.String({ description: "full mailbox address, LOCAL@DOMAIN" });
export const TerminalId = Type.String({
  description: "id of the terminal; the runtime session id of the agent",
});
export const EventTime = describe(Timestamp, "when it happened");
export const SinceTime = describe(Timestamp, "when it began");
export const AcceptanceTime = describe(Timestamp, "when the request was stored");
export const RecordingTime = describe(Timestamp, "when it was recorded");
