import { type Static, Type } from "@sinclair/typebox";
import { ActiveExecution, RequestAdmission } from "./gateway.ts";
import { maxPage, NonBlank, Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/** Headless agents: durable turns, their canonical events and control state. Source: contract 2.4, 2.9, 4.4. */

export const CanonicalKind = StringEnum([
  "session",
  "assistant",
  "reasoning",
  "action_request",
  "action_result",
  "progress",
  "completion",
  "diagnostic",
  "passthrough",
]);
export type CanonicalKind = Static<typeof CanonicalKind>;

/** One line of a turn's canonical-events.jsonl. Source: spec/coordination.md "Canonical events". */
export const CanonicalEvent = Strict(
  {
    kind: CanonicalKind,
    message: Type.String({ description: "one line, at most 160 characters" }),
    turn_index: Type.Integer({ minimum: 0 }),
    provider: Type.String({ description: "the tool that wrote it" }),
    provider_event_type: Type.String({ description: "what the tool calls this record" }),
    timestamp_utc: Timestamp,
    session_id: Type.Optional(Type.String({ description: "the tool's own id of the conversation" })),
    data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    raw_payload: Type.Optional(Type.Unknown({ description: "the record as the tool wrote it" })),
  },
  { description: "one semantic record of a headless turn" },
);
export type CanonicalEvent = Static<typeof CanonicalEvent>;

export const TurnStatus = StringEnum(["active", "completed", "failed", "interrupted", "unknown"]);
export type TurnStatus = Static<typeof TurnStatus>;

export const TurnId = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
  description: "turn-<12 hex> where we mint it",
});

/** Answer of `GET .../turns/{turn_id}`. Source: spec/coordination.md 4.4. */
export const TurnStatusRecord = Strict(
  {
    tracked_agent_id: Type.String(),
    turn_id: TurnId,
    turn_index: Type.Integer({ minimum: 0 }),
    status: TurnStatus,
    started_at_utc: Timestamp,
    completed_at_utc: Nullable(Timestamp),
    returncode: Nullable(Type.Integer({ description: "exit code of the tool; null when a signal ended it" })),
    completion_source: Nullable(
      Type.String({
        description: "process_exit once the tool's process has ended; null for a turn that never began",
      }),
    ),
    decided_by: Nullable(
      Type.String({
        description:
          "which fact decided the status: terminal_event, process_exit, interrupt_request, missing_evidence or not_started",
      }),
    ),
    stdout_path: Nullable(Type.String()),
    stderr_path: Nullable(Type.String()),
    status_path: Nullable(Type.String({ description: "the file that holds the exit code" })),
    history_summary: Nullable(Type.String({ description: "one line, at most 160 characters" })),
    error: Nullable(Type.String()),
  },
  { description: "one durable turn of a headless agent" },
);
export type TurnStatusRecord = Static<typeof TurnStatusRecord>;

/** Answer of `GET /v1/turns`. */
export const TurnList = Strict({
  schema_version: SchemaVersion1,
  turns: Type.Array(TurnStatusRecord, { maxItems: maxPage, description: "newest first" }),
});

/** What a canonical event reports beyond its message. */
export const TurnEventPayload = Strict({
  provider: Type.String(),
  session_id: Nullable(Type.String()),
  data: Type.Record(Type.String(), Type.Unknown()),
  provider_event_type: Type.String(),
  raw: Type.Unknown(),
});
export type TurnEventPayload = Static<typeof TurnEventPayload>;

/** Far above what a turn writes: an answer without a page is the whole turn (ruling 37). */
const maxTurnEvents = 10_000_000;

export const TurnEvent = Strict({
  kind: CanonicalKind,
  message: Type.String(),
  turn_index: Type.Integer({ minimum: 0 }),
  timestamp_utc: Timestamp,
  payload: Nullable(TurnEventPayload),
});
export type TurnEvent = Static<typeof TurnEvent>;

/** Answer of `GET .../turns/{turn_id}/events`. */
export const TurnEvents = Strict({
  tracked_agent_id: Type.String(),
  turn_id: TurnId,
  entries: Type.Array(TurnEvent, {
    maxItems: maxTurnEvents,
    description: "in the order in which the tool wrote them",
  }),
  next: Nullable(
    Type.Integer({
      minimum: 1,
      description: "of a page: `after` of the one that follows; null where nothing follows now",
    }),
  ),
});
export type TurnEvents = Static<typeof TurnEvents>;

/** The first-chat fallback of a session; `id` for mode exact only. */
export const StartupDefault = Strict({
  mode: StringEnum(["new", "tool_last_or_new", "exact"]),
  id: Type.Optional(NonBlank("provider session id")),
});
export type StartupDefault = Static<typeof StartupDefault>;

export const HeadlessChatSession = Strict({
  current: Nullable(Strict({ id: Type.String({ description: "provider session id the session pinned" }) })),
  startup_default: StartupDefault,
  next_prompt_override: Nullable(
    Strict(
      { mode: Type.Literal("new") },
      { description: "consumed by the next accepted direct prompt whose effective mode is auto" },
    ),
  ),
});
export type HeadlessChatSession = Static<typeof HeadlessChatSession>;

/** Answer of `GET /v1/control/headless/state`. Source: contract 2.4; spec/gateway.md 2.4. */
export const HeadlessState = Strict(
  {
    schema_version: SchemaVersion1,
    runtime_resumable: Type.Boolean(),
    tmux_session_live: Type.Boolean({ description: "diagnostic only" }),
    can_accept_prompt_now: Type.Boolean({ description: "connected, admission open, idle, no turn" }),
    interruptible: Type.Boolean({ description: "a turn runs" }),
    chat_session: HeadlessChatSession,
    request_admission: RequestAdmission,
    active_execution: ActiveExecution,
    queue_depth: Type.Integer({ minimum: 0 }),
    active_turn_id: Type.Optional(TurnId),
  },
  { description: "control state of a headless agent" },
);
export type HeadlessState = Static<typeof HeadlessState>;

/** Body of `POST /v1/control/headless/next-prompt-session`. */
export const NextPromptSession = Strict({
  schema_version: Type.Optional(SchemaVersion1),
  mode: Type.Literal("new"),
});
export type NextPromptSession = Static<typeof NextPromptSession>;

export const DisplayStyle = StringEnum(["plain", "json", "fancy"]);
export type DisplayStyle = Static<typeof DisplayStyle>;
export const DisplayDetail = StringEnum(["concise", "detail"]);
export type DisplayDetail = Static<typeof DisplayDetail>;

/** The same event as the routes show it. */
export function toTurnEvent(event: CanonicalEvent): TurnEvent {
  const { kind, message, turn_index, timestamp_utc } = event;
  const payload: TurnEventPayload = {
    provider: event.provider,
    session_id: event.session_id ?? null,
    data: event.data ?? {},
    provider_event_type: event.provider_event_type,
    raw: event.raw_payload ?? null,
  };
  return { kind, message, turn_index, timestamp_utc, payload };
}
