import { type Static, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { moment } from "./enforced.ts";
import { AcceptanceTime, Detail, EventTime, InstanceEpoch, QueueDepth, RequestId } from "./fields.ts";
import { DesiredRecorder } from "./files.ts";
import { RequestAdmission, StoredRequestKind } from "./gateway.ts";
import {
  Availability,
  LastTurn,
  ParseStatus,
  ProcessState,
  Surface,
  TransportState,
  TurnPhase,
} from "./terminal.ts";
import {
  describe,
  ErrorBody,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
  ValidationErrorBody,
} from "./wire.ts";

/**
 * The flight recorder of one agent: what its terminal showed and why its queue waited, at any moment. Source:
 * issue 29.
 */

export const defaultRecorderLimits = { maxBytes: 256 * 1024 * 1024, maxAgeSeconds: 7 * 86_400 } as const;

export const RecorderUpdate = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    enabled: Type.Boolean({ description: "whether this agent is recorded from now on" }),
    max_bytes: DesiredRecorder.properties.max_bytes,
    max_age_seconds: DesiredRecorder.properties.max_age_seconds,
  },
  { description: "an omitted limit keeps its value" },
);
export type RecorderUpdate = Static<typeof RecorderUpdate>;

export const RecorderStatus = Strict(
  {
    schema_version: SchemaVersion1,
    enabled: Type.Boolean({ description: "the setting; it holds over restarts of the gateway" }),
    recording: Type.Boolean({ description: "whether a gateway records at this moment" }),
    max_bytes: Type.Integer({ description: "bytes on disk at most" }),
    max_age_seconds: Type.Integer({ description: "how long recordings are kept" }),
    segments: Type.Integer({ minimum: 0, description: "parts on disk; each begins with a whole screen" }),
    bytes: Type.Integer({ minimum: 0, description: "on disk" }),
    recorded_from_utc: Nullable({ ...Timestamp, description: "the oldest moment that is kept" }),
    problem: Nullable(Type.String({ description: "why nothing is written now; null while all is" })),
  },
  { description: "the recorder of this agent, and what it has on disk" },
);
export type RecorderStatus = Static<typeof RecorderStatus>;

/** One fact of the prompt-ready predicate, in its order. */
export const RecordedFact = Strict(
  {
    name: Type.String({ description: "as in `explain`" }),
    value: Type.String({ description: "as it was" }),
    wanted: Type.String({ description: "what a prompt at a turn boundary asks for" }),
    holds: Type.Boolean({ description: "whether it was as wanted" }),
  },
  { description: "one fact that a queued prompt asks for" },
);
export type RecordedFact = Static<typeof RecordedFact>;

/** What the terminal showed, without its text: that is in the recording of the screen. */
export const RecordedTerminal = Strict(
  {
    availability: Availability,
    transport_state: TransportState,
    process_state: ProcessState,
    parse_status: ParseStatus,
    surface: Surface,
    turn_phase: describe(TurnPhase, "whether a turn ran then"),
    last_turn: LastTurn,
    stable: Type.Boolean({ description: "whether the screen was still for long enough" }),
    question: Nullable(Type.String({ description: "what it asked a person; null when nothing" })),
    parked: Nullable(Type.String({ description: "the usage limit that held it; null when none did" })),
    active_reasons: Type.Array(Type.String(), {
      ...shortList,
      description: "which facts said that it was busy",
    }),
    ready: Type.Boolean({ description: "whether a queued prompt could be typed" }),
    blocking: Nullable(Type.String({ description: "why not: the first reason; null when it could" })),
    facts: Type.Array(RecordedFact, { ...shortList, description: "in the order in which they are asked" }),
  },
  { description: "what the terminal showed, without its text; null where none was recorded yet" },
);
export type RecordedTerminal = Static<typeof RecordedTerminal>;

/** What the queue chose and the facts it was chosen by. */
export const RecordedDecision = Strict(
  {
    do: StringEnum(["rest", "wait", "expire", "run"], {
      description: "rest: nothing waited; expire: the oldest request was for an earlier instance",
    }),
    request_id: Nullable(
      Type.String({ description: "the request that was run or failed, or the oldest that waited" }),
    ),
    reason: Nullable(Type.String({ description: "why it waited" })),
    detail: Nullable(Detail),
    request_admission: RequestAdmission,
    admission_block: Nullable(Type.String({ description: "why admission was closed" })),
    managed_agent_instance_epoch: InstanceEpoch,
    execution_slot: Nullable(Type.String({ description: "who held the slot; null while it was free" })),
    typing: Type.Boolean({ description: "whether a person typed by hand" }),
    heads: Type.Array(
      Strict({
        request_id: RequestId,
        request_kind: StoredRequestKind,
        delivery: Type.String({ description: "turn_boundary, immediate or interrupt" }),
        managed_agent_instance_epoch: InstanceEpoch,
      }),
      { maxItems: 8, description: "the oldest request of each lane" },
    ),
  },
  { description: "what the queue chose last, and the facts it was chosen by; null before its first choice" },
);
export type RecordedDecision = Static<typeof RecordedDecision>;

/** Of the requests that wait or run, so many are named. */
export const maxRecordedRequests = 100;
/** Events before a moment that are shown with it. */
export const maxRecordedEvents = 10;

export const RecordedRequest = Strict(
  {
    request_id: RequestId,
    request_kind: Type.String({ description: "what was asked for" }),
    state: StringEnum(["accepted", "running"], { description: "how far it got" }),
    accepted_at_utc: AcceptanceTime,
  },
  { description: "a request that waited or ran" },
);
export type RecordedRequest = Static<typeof RecordedRequest>;

export const RecordedQueue = Strict(
  {
    queue_depth: QueueDepth,
    requests: Type.Array(RecordedRequest, {
      maxItems: maxRecordedRequests,
      description: "the oldest of them; the prompts are not recorded",
    }),
  },
  { description: "what was in the queue" },
);
export type RecordedQueue = Static<typeof RecordedQueue>;

const RecordedEvent = Type.Object(
  { kind: Type.String({ description: "what kind it is" }), at_utc: EventTime },
  { additionalProperties: Type.Unknown() },
);
export type RecordedEvent = Static<typeof RecordedEvent>;

/** What was known at one moment. */
export const RecordedMoment = Strict(
  {
    schema_version: SchemaVersion1,
    at_utc: { ...Timestamp, description: "the moment that was asked for" },
    recorded: StringEnum(["yes", "gap"], {
      description: "gap: nothing was recorded then; what follows is what was known before it",
    }),
    gap: Nullable(Type.String({ description: "why there is a gap" })),
    recorded_at_utc: { ...Timestamp, description: "the last record before the moment" },
    terminal: Nullable(RecordedTerminal),
    terminal_since_utc: Nullable({ ...Timestamp, description: "since when it showed that" }),
    decision: Nullable(RecordedDecision),
    decision_since_utc: Nullable({ ...Timestamp, description: "since when the queue chose that" }),
    queue: RecordedQueue,
    events: Type.Array(RecordedEvent, {
      maxItems: maxRecordedEvents,
      description: "the last events before the moment, newest last",
    }),
    screen_recorded: Type.Boolean({ description: "whether the screen of that moment is recorded, too" }),
  },
  { description: "what was known of the agent at one moment: what held it up, and what waited" },
);
export type RecordedMoment = Static<typeof RecordedMoment>;

/** Bytes of one answer with a part of a recording. */
export const maxCastBytes = 4 * 1024 * 1024;

export const RecordedCast = Strict(
  {
    schema_version: SchemaVersion1,
    from_utc: { ...Timestamp, description: "the first moment of it; its times count from there" },
    until_utc: { ...Timestamp, description: "the last moment of it" },
    next_utc: Nullable({ ...Timestamp, description: "ask from here for the rest; null when there is none" }),
    cast: Type.String({
      description:
        "an asciicast v2 file: a header and one line for each output; it begins with a whole screen",
    }),
  },
  { description: "what the terminal was sent, with the times" },
);
export type RecordedCast = Static<typeof RecordedCast>;

const at = Type.String({ ...moment, description: "RFC 3339 with its offset" });
const nothingRecorded = { 404: ErrorBody, 422: RefusedOrInvalid } as const;

/** The flight recorder (additional; issue 29). */
export const recorderEndpoints = {
  readRecorder: endpoint({
    method: "GET",
    path: "/v1/recorder",
    summary: "Whether this agent is recorded, and what is on disk",
    status: 200,
    response: RecorderStatus,
  }),
  updateRecorder: endpoint({
    method: "PUT",
    path: "/v1/recorder",
    summary: "Switch the recorder of this agent on or off",
    description:
      "Off by default. It keeps what the terminal is sent, the events, the states of the terminal and the choices of the queue below the session's folder, on this machine only. What looks like a secret is overwritten before it is written; a secret of an unknown form is not recognized.",
    body: RecorderUpdate,
    status: 200,
    response: RecorderStatus,
    errors: { 422: ValidationErrorBody },
  }),
  recordedMoment: endpoint({
    method: "GET",
    path: "/v1/recorder/moment",
    summary: "What was known of the agent at one moment: which facts held, what kept it from being ready",
    query: Strict({ at }),
    status: 200,
    response: RecordedMoment,
    errors: nothingRecorded,
  }),
  recordedCast: endpoint({
    method: "GET",
    path: "/v1/recorder/cast",
    summary: "What the terminal showed in a span of time, as asciicast v2",
    description:
      "It begins with the screen as it was at `from`. An answer ends early where it becomes large: follow `next_utc`.",
    query: Strict({
      from: at,
      until: Type.Optional({ ...at, description: "RFC 3339; default: a minute after `from`" }),
    }),
    status: 200,
    response: RecordedCast,
    errors: nothingRecorded,
  }),
} as const;
