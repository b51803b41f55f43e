import { type Static, Type } from "@sinclair/typebox";
import { endpoint, limit, RefusedOrInvalid } from "./endpoint.ts";
import { QueueDepth, TrackedAgentId } from "./fields.ts";
import { ActiveExecution, RequestAdmission } from "./gateway.ts";
import { type CanonicalEvent, CanonicalKind, TurnId } from "./turn-files.ts";
import {
  describe,
  ErrorBody,
  maxPage,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  Timestamp,
} from "./wire.ts";

/**
 * Headless agents: durable turns, their canonical events and control state. Source: contract 2.4, 2.9, 4.4.
 */

export const TurnStatus = StringEnum(["active", "completed", "failed", "interrupted", "unknown"], {
  description: "active: the turn runs; unknown: the evidence of its end is missing",
});
export type TurnStatus = Static<typeof TurnStatus>;

/** Answer of `GET .../turns/{turn_id}`. Source: spec/coordination.md 4.4. */
export const TurnStatusRecord = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    turn_id: TurnId,
    turn_index: Type.Integer({
      description: "number of the turn in its session, from 0; null when there is none",
      minimum: 0,
    }),
    status: TurnStatus,
    started_at_utc: describe(Timestamp, "when the turn began"),
    completed_at_utc: Nullable(describe(Timestamp, "when the turn ended; null while it runs")),
    returncode: Nullable(Type.Integer({ description: "exit code of the tool; null when a signal ended it" })),
    completion_source: Nullable(
      Type.String({
        description: "process_exit after the tool's process ended; null for a turn that never began",
      }),
    ),
    decided_by: Nullable(
      Type.String({
        description:
          "the fact that decided the status: terminal_event, process_exit, interrupt_request, missing_evidence or not_started",
      }),
    ),
    stdout_path: Nullable(
      Type.String({ description: "file with the tool's standard output; null before it began" }),
    ),
    stderr_path: Nullable(
      Type.String({ description: "file with the tool's standard error; null before it began" }),
    ),
    status_path: Nullable(Type.String({ description: "the file that holds the exit code" })),
    history_summary: Nullable(Type.String({ description: "one line, at most 160 characters" })),
    error: Nullable(Type.String({ description: "why it failed; null when it did not" })),
  },
  { description: "one durable turn of a headless agent" },
);
export type TurnStatusRecord = Static<typeof TurnStatusRecord>;

/** Answer of `GET /v1/turns`. */
export const TurnList = Strict(
  {
    schema_version: SchemaVersion1,
    turns: Type.Array(TurnStatusRecord, { maxItems: maxPage, description: "newest first" }),
  },
  { description: "turns, newest first" },
);

/** The fields of a canonical event beyond its message. */
export const TurnEventPayload = Strict(
  {
    provider: Type.String({ description: "the tool that wrote it" }),
    session_id: Nullable(
      Type.String({ description: "the tool's own id of the conversation; null when it gave none" }),
    ),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "fields of the kind, the same for every tool",
    }),
    provider_event_type: Type.String({ description: "the tool's name for this record" }),
    raw: Type.Unknown({ description: "the record as the tool wrote it" }),
  },
  { description: "the fields of a record beyond its message" },
);
type TurnEventPayload = Static<typeof TurnEventPayload>;

/** Far above the events of a turn: an answer without `limit` has all of them (ruling 37). */
const maxTurnEvents = 10_000_000;

export const TurnEvent = Strict(
  {
    kind: CanonicalKind,
    message: Type.String({ description: "one line, at most 160 characters" }),
    turn_index: Type.Integer({
      description: "number of the turn in its session, from 0; null when there is none",
      minimum: 0,
    }),
    timestamp_utc: describe(Timestamp, "when the tool wrote it"),
    payload: Nullable(TurnEventPayload),
  },
  { description: "one semantic record of a headless turn" },
);
export type TurnEvent = Static<typeof TurnEvent>;

/** Answer of `GET .../turns/{turn_id}/events`. */
export const TurnEvents = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    turn_id: TurnId,
    entries: Type.Array(TurnEvent, {
      maxItems: maxTurnEvents,
      description: "in the order in which the tool wrote them",
    }),
    next: Nullable(
      Type.Integer({
        minimum: 1,
        description: "`after` of the next page; null when no event follows now",
      }),
    ),
  },
  { description: "what the agent said and did in a turn" },
);
export type TurnEvents = Static<typeof TurnEvents>;

/** The conversation of a session's first prompt; `id` for mode exact only. */
export const StartupDefault = Strict(
  {
    mode: StringEnum(["new", "tool_last_or_new", "exact"], {
      description: "new: a new one; tool_last_or_new: the tool's last one; exact: the one named by `id`",
    }),
    id: Type.Optional(NonBlank("provider session id")),
  },
  { description: "conversation of the first prompt; `id` with mode exact only" },
);
export type StartupDefault = Static<typeof StartupDefault>;

export const HeadlessChatSession = Strict(
  {
    current: Nullable(
      Strict(
        { id: Type.String({ description: "provider session id the session pinned" }) },
        { description: "the conversation that the session pinned; null before the first turn" },
      ),
    ),
    startup_default: describe(StartupDefault, "conversation of the session's first prompt"),
    next_prompt_override: Nullable(
      Strict(
        { mode: Type.Literal("new") },
        { description: "consumed by the next accepted direct prompt whose effective mode is auto" },
      ),
    ),
  },
  { description: "which conversation the next prompt belongs to" },
);
export type HeadlessChatSession = Static<typeof HeadlessChatSession>;

/** Answer of `GET /v1/control/headless/state`. Source: contract 2.4; spec/gateway.md 2.4. */
export const HeadlessState = Strict(
  {
    schema_version: SchemaVersion1,
    runtime_resumable: Type.Boolean({ description: "whether the agent can be started for another turn" }),
    tmux_session_live: Type.Boolean({ description: "diagnostic only" }),
    can_accept_prompt_now: Type.Boolean({
      description: "whether a prompt would be accepted: connected, admission open, idle, no turn",
    }),
    interruptible: Type.Boolean({ description: "whether a turn runs" }),
    chat_session: HeadlessChatSession,
    request_admission: RequestAdmission,
    active_execution: ActiveExecution,
    queue_depth: QueueDepth,
    active_turn_id: Type.Optional(describe(TurnId, "the turn that runs; absent or null when none does")),
  },
  { description: "control state of a headless agent" },
);
export type HeadlessState = Static<typeof HeadlessState>;

/** Body of `POST /v1/control/headless/next-prompt-session`. */
export const NextPromptSession = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    mode: Type.Literal("new"),
  },
  { description: "the next direct prompt begins a new conversation" },
);
/** A canonical event in the schema of the routes. */
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

/** Refusals of all these routes: 422 for an agent that is not headless. */
const refusals = { 422: RefusedOrInvalid } as const;
const refusalsOfTurn = { ...refusals, 404: ErrorBody } as const;

/** Control of a headless agent and its durable turns (contract 4.1; the turn routes are additional). */
export const turnEndpoints = {
  headlessState: endpoint({
    method: "GET",
    path: "/v1/control/headless/state",
    summary: "Whether a headless agent can take a prompt, and the conversation of that prompt",
    status: 200,
    response: HeadlessState,
    errors: { ...refusals, 503: ErrorBody },
  }),
  nextPromptSession: endpoint({
    method: "POST",
    path: "/v1/control/headless/next-prompt-session",
    summary: "Let the next direct prompt begin a new conversation",
    description:
      "Applies once, to the next accepted direct prompt that names no conversation; queued prompts ignore it. Lost when the gateway ends.",
    body: NextPromptSession,
    status: 200,
    response: HeadlessState,
    errors: { ...refusals, 503: ErrorBody },
  }),
  listTurns: endpoint({
    method: "GET",
    path: "/v1/turns",
    summary: "The newest turns of a headless agent",
    query: Strict({ limit }),
    status: 200,
    response: TurnList,
    errors: refusals,
  }),
  readTurn: endpoint({
    method: "GET",
    path: "/v1/turns/:turn_id",
    summary: "One turn: running, or how it ended",
    status: 200,
    response: TurnStatusRecord,
    errors: refusalsOfTurn,
  }),
  turnEvents: endpoint({
    method: "GET",
    path: "/v1/turns/:turn_id/events",
    summary: "What the agent said and did in a turn, also while it runs",
    description:
      "All events, or a page with `limit`; `next` is the `after` of the next page. The event stream publishes each event as turn_event, with its number in turn_seq.",
    query: Strict({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 1000, description: "at most this many; all without it" }),
      ),
      after: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: "number of events to skip",
      }),
    }),
    status: 200,
    response: TurnEvents,
    errors: refusalsOfTurn,
  }),
} as const;

const artifactQuery = Strict({
  offset: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: "first byte",
  }),
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "at most this many bytes; to the end without it",
    }),
  ),
});

const artifact = <const Path extends string>(path: Path, summary: string) =>
  endpoint({
    method: "GET",
    path,
    summary,
    description:
      'The output of the tool to its current end, also while it writes; empty before the first output. When `max_bytes` cuts the answer, the header `Link` names the next part, rel="next".',
    query: artifactQuery,
    status: 200,
    response: Type.String({ contentMediaType: "text/plain" }),
    errors: refusalsOfTurn,
  });

/** Answers in plain text, streamed from disk, which are not part of the typed client. */
export const turnArtifactEndpoints = {
  turnStdout: artifact("/v1/turns/:turn_id/artifacts/stdout", "Standard output of a turn's tool"),
  turnStderr: artifact("/v1/turns/:turn_id/artifacts/stderr", "Standard error of a turn's tool"),
} as const;
