import { type Static, Type } from "@sinclair/typebox";
import { AgentIdentity } from "./agents.ts";
import { enforced, patterns } from "./enforced.ts";
import { LifecycleState } from "./files.ts";
import { ChatSession, Execution, RequestAdmission } from "./gateway.ts";
import { TrackingTimings } from "./terminal.ts";
import { DisplayDetail, DisplayStyle, TurnId } from "./turn-files.ts";
import { NonBlank, Nullable, SchemaVersion1, Strict, Timestamp } from "./wire.ts";

/**
 * Bodies of the coordination server's own routes. Source: contract 2.9, 4.4; spec/coordination.md; ruling 1.
 */

export const CoordinatorHealth = Strict({
  status: Type.Literal("ok"),
  svc_service: Type.Literal("svc-coord"),
});

/** Answer of `GET /svc/coord/current-instance`, kept as run/current-instance.json while the server runs. */
export const CoordinatorInstance = Strict({
  schema_version: SchemaVersion1,
  status: Type.Literal("ok"),
  pid: Type.Integer(),
  api_base_url: Type.String(),
  server_root: Type.String(),
  started_at_utc: Timestamp,
});
export type CoordinatorInstance = Static<typeof CoordinatorInstance>;

export const ShutdownAnswer = Strict({ status: Type.Literal("ok") });

/** Which agents a list is of. */
export const AgentListQuery = Strict({
  state: Type.Optional({
    ...LifecycleState,
    description: "only agents whose registry record says so; all without it",
  }),
});

const optionalVersion = Type.Optional(SchemaVersion1);

export const AgentPromptRequest = Strict({
  schema_version: optionalVersion,
  request_kind: Type.Literal("submit_prompt"),
  prompt: NonBlank("the text to submit"),
  execution: Type.Optional(Execution),
});
export const AgentInterruptRequest = Strict({
  schema_version: optionalVersion,
  request_kind: Type.Literal("interrupt"),
});
/** Body of `POST .../requests`. */
export const AgentRequest = Type.Union([AgentPromptRequest, AgentInterruptRequest], {
  description: "work for an agent",
});
export type AgentRequest = Static<typeof AgentRequest>;

/** Body of `POST .../turns`. */
export const TurnSubmission = Strict({
  schema_version: optionalVersion,
  prompt: NonBlank("the text to submit"),
  chat_session: Type.Optional(ChatSession),
  execution: Type.Optional(Execution),
});
export type TurnSubmission = Static<typeof TurnSubmission>;

/** Answer of `POST .../turns`: where the turn is to be followed. */
export const TurnHandle = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  turn_id: TurnId,
  turn_index: Nullable(Type.Integer({ minimum: 0, description: "null while it waits in the queue" })),
  status: Type.Literal("active"),
  detail: Type.String(),
});
export type TurnHandle = Static<typeof TurnHandle>;

/** Answer of `POST .../interrupt`. */
export const TurnInterruption = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  detail: Type.String(),
  turn_id: Type.Optional(TurnId),
  turn_index: Type.Optional(Type.Integer({ minimum: 0, description: "of the turn it stopped" })),
});
export type TurnInterruption = Static<typeof TurnInterruption>;

/** Answer of `POST .../stop`. */
export const AgentStopped = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  detail: Type.String(),
  turn_id: Type.Optional(TurnId),
  manifest_path: Type.Optional(Type.String()),
  session_root: Type.Optional(Type.String()),
});
export type AgentStopped = Static<typeof AgentStopped>;

/** Answer of `POST .../relaunch`. */
export const AgentRelaunched = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  in_place: Type.Boolean({
    description: "true: in its tmux session, which goes on; false: in a new one",
  }),
  request_admission: Type.Union([RequestAdmission, Type.Null()], {
    description: "of its gateway afterwards; null when none serves it",
  }),
  detail: Type.String(),
});
export type AgentRelaunched = Static<typeof AgentRelaunched>;

/** Body of the remote attach, which is not offered. */
export const RemoteAttach = Strict({
  schema_version: optionalVersion,
  tui_tracking_timings: Type.Optional(Type.Partial(TrackingTimings, { additionalProperties: false })),
});

/** Body of `POST /svc/agents/headless/launches`. */
export const HeadlessLaunch = Strict({
  schema_version: optionalVersion,
  tool: NonBlank("claude, codex, gemini, opencode or demo"),
  working_directory: NonBlank("absolute path of a folder", {
    ...enforced({ pattern: patterns.absolutePath }),
  }),
  agent_def_dir: NonBlank("absolute path of the folder with roles/<role>/system-prompt.md", {
    ...enforced({ pattern: patterns.absolutePath }),
  }),
  brain_manifest_path: NonBlank("absolute path of a brain manifest, schema 3, YAML or JSON", {
    ...enforced({ pattern: patterns.absolutePath }),
  }),
  role_name: NonBlank("a role of agent_def_dir"),
  agent_name: Type.Optional(NonBlank("default: the role and six random characters")),
  agent_id: Type.Optional(NonBlank("default: derived from the name")),
  headless_display_style: Type.Optional({ ...DisplayStyle, description: "default: plain" }),
  headless_display_detail: Type.Optional({ ...DisplayDetail, description: "default: concise" }),
  mailbox: Type.Optional(
    Strict({
      transport: Type.Optional(Type.Literal("filesystem")),
      filesystem_root: Type.Optional(
        NonBlank("absolute path of a mailbox root", { ...enforced({ pattern: patterns.absolutePath }) }),
      ),
      principal_id: Type.Optional(NonBlank("default: the agent's name")),
      address: Type.Optional(
        NonBlank("default: NAME@svc.localhost", {
          ...enforced({ maxLength: 200, pattern: patterns.address }),
        }),
      ),
    }),
  ),
});
export type HeadlessLaunch = Static<typeof HeadlessLaunch>;

/** Answer of `POST /svc/agents/headless/launches`. */
export const HeadlessLaunched = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  identity: AgentIdentity,
  manifest_path: Type.String(),
  session_root: Type.String(),
  detail: Type.String(),
});
export type HeadlessLaunched = Static<typeof HeadlessLaunched>;

/** Events of the stream of all agents beside those of their gateways. */
export const fleetEventKinds = {
  agent_seen: "an agent is there",
  agent_changed: "the lifecycle state of an agent changed, or it is a new generation",
  agent_gone: "an agent is there no more",
  gateway_connected: "the events of a gateway are followed",
  gateway_lost: "a gateway does not answer",
  gateway_unfollowed: "the events of a gateway are not followed: too many are",
  stream_gap: "events before this one are lost to the reader",
} as const;
export type FleetEventKind = keyof typeof fleetEventKinds;

/** One event of `GET /svc/events`: the gateway's own fields beside it, and whose they are. */
export const FleetEvent = Type.Object(
  {
    kind: Type.String(),
    at_utc: Timestamp,
    agent_id: Nullable(Type.String()),
    agent_name: Nullable(Type.String()),
    tracked_agent_id: Nullable(Type.String()),
  },
  { additionalProperties: Type.Unknown(), description: "something that happened at one agent" },
);
export type FleetEvent = Static<typeof FleetEvent>;
