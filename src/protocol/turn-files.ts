import { type Static, Type } from "@sinclair/typebox";
import { AcpLaunch } from "./acp-launch.ts";
import { Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/**
 * The files of a turn directory, the only record of a headless turn. A bridge imports this module and no
 * other of the wire at its start, since building the schemas of a gateway takes 2 ms. Source:
 * spec/coordination.md; ruling 23.
 */

export const TurnId = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
  description: "turn-<12 hex> for a generated id",
});

export const CanonicalKind = StringEnum(
  [
    "session",
    "assistant",
    "reasoning",
    "action_request",
    "action_result",
    "progress",
    "completion",
    "diagnostic",
    "passthrough",
  ],
  { description: "kind of a record of a headless turn, the same for every tool" },
);
export type CanonicalKind = Static<typeof CanonicalKind>;

/** One line of a turn's canonical-events.jsonl. Source: spec/coordination.md "Canonical events". */
export const CanonicalEvent = Strict(
  {
    kind: CanonicalKind,
    message: Type.String({ description: "one line, at most 160 characters" }),
    turn_index: Type.Integer({ minimum: 0 }),
    provider: Type.String({ description: "the tool that wrote it" }),
    provider_event_type: Type.String({ description: "the tool's name for this record" }),
    timestamp_utc: Timestamp,
    session_id: Type.Optional(Type.String({ description: "the tool's own id of the conversation" })),
    data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    raw_payload: Type.Optional(Type.Unknown({ description: "the record as the tool wrote it" })),
  },
  { description: "one semantic record of a headless turn" },
);
export type CanonicalEvent = Static<typeof CanonicalEvent>;

export const DisplayStyle = StringEnum(["plain", "json", "fancy"], {
  description: "how a turn is shown in the pane",
});
export type DisplayStyle = Static<typeof DisplayStyle>;
export const DisplayDetail = StringEnum(["concise", "detail"], {
  description: "how much of a turn is shown in the pane",
});
export type DisplayDetail = Static<typeof DisplayDetail>;

export const TurnSession = Type.Union([
  Strict({ mode: StringEnum(["new", "tool_last_or_new"]) }),
  Strict({ mode: Type.Literal("exact"), id: Type.String() }),
]);
export type TurnSession = Static<typeof TurnSession>;

export const TurnModel = Strict({
  name: Nullable(Type.String()),
  level: Nullable(Type.Integer({ minimum: 0 })),
});
export type TurnModel = Static<typeof TurnModel>;

/** request.json: the input of the bridge, written before anything runs. */
export const TurnRequest = Strict({
  schema_version: SchemaVersion1,
  turn_id: TurnId,
  turn_index: Type.Integer({ minimum: 0 }),
  tracked_agent_id: Type.String(),
  request_id: Nullable(
    Type.String({ description: "id of the queued request or the reminder; null for a direct prompt" }),
  ),
  requested_at_utc: Timestamp,
  life: Nullable(
    Type.String({
      description: "instance id of the agent; a turn of an earlier instance pins no conversation",
    }),
  ),
  tool: Type.String(),
  executable: Type.String(),
  args: Type.Array(Type.String()),
  working_directory: Type.String(),
  role_prompt: Nullable(Type.String()),
  prompt: Type.String(),
  session: TurnSession,
  model: Nullable(TurnModel),
  display_style: DisplayStyle,
  display_detail: DisplayDetail,
  acp: Type.Optional(AcpLaunch),
});
export type TurnRequest = Static<typeof TurnRequest>;

/** process.json: the processes of the turn. A turn with this file is never started again. */
export const TurnProcess = Strict({
  runner_pid: Type.Integer(),
  runner_start: Nullable(
    Type.String({ description: "distinguishes the runner from a later process with its id" }),
  ),
  child_pid: Nullable(Type.Integer({ description: "the tool's process; null before its start" })),
  child_start: Nullable(Type.String()),
  launched_at_utc: Timestamp,
});
export type TurnProcess = Static<typeof TurnProcess>;

/** interrupt.json: written before the first signal. */
export const TurnInterrupt = Strict({
  requested_at_utc: Timestamp,
  requested_by: StringEnum(["gateway", "pane", "stop"]),
});
export type TurnInterrupt = Static<typeof TurnInterrupt>;

/** result.json: the final state of the turn, which never changes. */
export const TurnResult = Strict({
  schema_version: SchemaVersion1,
  status: StringEnum(["completed", "failed", "interrupted"]),
  completed_at_utc: Timestamp,
  returncode: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  completion_source: Type.String(),
  session_id: Nullable(Type.String({ description: "the tool's own id of the conversation" })),
  history_summary: Nullable(Type.String()),
  error: Nullable(Type.String()),
  usage: Nullable(Type.Record(Type.String(), Nullable(Type.Number()))),
});
export type TurnResult = Static<typeof TurnResult>;
