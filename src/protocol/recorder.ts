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
 * decision 81.
 */

export const defaultRecorderLimits = { maxBytes: 256 * 1024 * 1024, maxAgeSeconds: 7 * 86_400 } as const;

export const RecorderUpdate = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    enabled: Type.Boolean({ description: "whether to record this agent" }),
    max_bytes: DesiredRecorder.properties.max_bytes,
    max_age_seconds: DesiredRecorder.properties.max_age_seconds,
  },
  { description: "settings of the recorder; an omitted limit keeps its value" },
);
export type RecorderUpdate = Static<typeof RecorderUpdate>;

export const RecorderStatus = Strict(
  {
    schema_version: SchemaVersion1,
    enabled: Type.Boolean({ description: "the setting, which survives restarts of the gateway" }),
    recording: Type.Boolean({ description: "whether a gateway is recording now" }),
    max_bytes: Type.Integer({ description: "maximum bytes on disk" }),
    max_age_seconds: Type.Integer({ description: "seconds for which recordings are kept" }),
    segments: Type.Integer({ minimum: 0, description: "segments on disk; each begins with a whole screen" }),
    bytes: Type.Integer({ minimum: 0, description: "bytes on disk" }),
    recorded_from_utc: Nullable({ ...Timestamp, description: "the oldest recorded moment" }),
    problem: Nullable(Type.String({ description: "why recording fails now; null while it works" })),
  },
  { description: "the settings of the recorder and its data on disk" },
);
export type RecorderStatus = Static<typeof RecorderStatus>;

/** One fact of the prompt-ready predicate. */
export const RecordedFact = Strict(
  {
    name: Type.String({ description: "name of the fact, as in `explain`" }),
    value: Type.String({ description: "value at the moment" }),
    wanted: Type.String({ description: "value that a prompt at a turn boundary requires" }),
    holds: Type.Boolean({ description: "whether value and wanted matched" }),
  },
  { description: "one fact that a queued prompt requires" },
);
export type RecordedFact = Static<typeof RecordedFact>;

/** The terminal state without its text, which is in the recording of the screen. */
export const RecordedTerminal = Strict(
  {
    availability: Availability,
    transport_state: TransportState,
    process_state: ProcessState,
    parse_status: ParseStatus,
    surface: Surface,
    turn_phase: describe(TurnPhase, "whether a turn ran then"),
    last_turn: LastTurn,
    stable: Type.Boolean({ description: "whether the screen had not changed for long enough" }),
    question: Nullable(Type.String({ description: "question to a person; null without one" })),
    parked: Nullable(Type.String({ description: "the usage limit that held the agent; null without one" })),
    active_reasons: Type.Array(Type.String(), {
      ...shortList,
      description: "facts that showed a busy tool",
    }),
    ready: Type.Boolean({ description: "whether a queued prompt could be typed" }),
    blocking: Nullable(Type.String({ description: "the first reason why not; null when it could" })),
    facts: Type.Array(RecordedFact, { ...shortList, description: "in the order of the predicate" }),
  },
  { description: "the terminal state without its text; null before the first record" },
);
export type RecordedTerminal = Static<typeof RecordedTerminal>;

/** A decision of the queue and its facts. */
export const RecordedDecision = Strict(
  {
    do: StringEnum(["rest", "wait", "expire", "run"], {
      description: "rest: nothing waited; expire: the oldest request was for an earlier instance",
    }),
    request_id: Nullable(
      Type.String({ description: "the request that was run or failed, or the oldest waiting one" }),
    ),
    reason: Nullable(Type.String({ description: "why it waited" })),
    detail: Nullable(Detail),
    request_admission: RequestAdmission,
    admission_block: Nullable(Type.String({ description: "why admission was closed" })),
    managed_agent_instance_epoch: InstanceEpoch,
    execution_slot: Nullable(
      Type.String({ description: "holder of the execution slot; null while it was free" }),
    ),
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
  { description: "the last decision of the queue and its facts; null before the first one" },
);
export type RecordedDecision = Static<typeof RecordedDecision>;

/** Waiting and running requests that a moment lists at most. */
export const maxRecordedRequests = 100;
/** Events before a moment that it lists at most. */
export const maxRecordedEvents = 10;

export const RecordedRequest = Strict(
  {
    request_id: RequestId,
    request_kind: Type.String({ description: "kind of the request" }),
    state: StringEnum(["accepted", "running"], { description: "state at the moment" }),
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
      description: "the oldest requests, without their prompts",
    }),
  },
  { description: "the content of the queue" },
);
export type RecordedQueue = Static<typeof RecordedQueue>;

const RecordedEvent = Type.Object(
  { kind: Type.String({ description: "what kind it is" }), at_utc: EventTime },
  { additionalProperties: Type.Unknown() },
);
export type RecordedEvent = Static<typeof RecordedEvent>;

/** The recorded state of the agent and its queue at one moment. */
export const RecordedMoment = Strict(
  {
    schema_version: SchemaVersion1,
    at_utc: { ...Timestamp, description: "the requested moment" },
    recorded: StringEnum(["yes", "gap"], {
      description: "gap: nothing was recorded then; the other fields are those before the gap",
    }),
    gap: Nullable(Type.String({ description: "why there is a gap" })),
    recorded_at_utc: { ...Timestamp, description: "time of the last record before the moment" },
    terminal: Nullable(RecordedTerminal),
    terminal_since_utc: Nullable({ ...Timestamp, description: "when this terminal state began" }),
    decision: Nullable(RecordedDecision),
    decision_since_utc: Nullable({ ...Timestamp, description: "when this decision was first made" }),
    queue: RecordedQueue,
    events: Type.Array(RecordedEvent, {
      maxItems: maxRecordedEvents,
      description: "the last events before the moment, newest last",
    }),
    screen_recorded: Type.Boolean({ description: "whether the screen of the moment is recorded" }),
  },
  { description: "the state of the agent and its queue at one moment" },
);
export type RecordedMoment = Static<typeof RecordedMoment>;

/** Maximum bytes of one answer with a part of a recording. */
export const maxCastBytes = 4 * 1024 * 1024;

export const RecordedCast = Strict(
  {
    schema_version: SchemaVersion1,
    from_utc: {
      ...Timestamp,
      description: "first moment of the part; the times in `cast` are relative to it",
    },
    until_utc: { ...Timestamp, description: "last moment of the part" },
    next_utc: Nullable({ ...Timestamp, description: "`from` of the next part; null on the last one" }),
    cast: Type.String({
      description:
        "an asciicast v2 file: a header and one line for each output; it begins with a whole screen",
    }),
  },
  { description: "the output to the terminal, with its times" },
);
export type RecordedCast = Static<typeof RecordedCast>;

const at = Type.String({ ...moment, description: "RFC 3339 with its offset" });
const nothingRecorded = { 404: ErrorBody, 422: RefusedOrInvalid } as const;

/** The routes of the flight recorder (additional). */
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
      "Off by default. The recorder writes the output to the terminal, the events, the terminal states and the decisions of the queue into the session's folder, on this machine only. It masks text that looks like a secret; a secret of an unknown form is not recognized.",
    body: RecorderUpdate,
    status: 200,
    response: RecorderStatus,
    errors: { 422: ValidationErrorBody },
  }),
  recordedMoment: endpoint({
    method: "GET",
    path: "/v1/recorder/moment",
    summary: "The recorded state of the agent and its queue at one moment",
    query: Strict({ at }),
    status: 200,
    response: RecordedMoment,
    errors: nothingRecorded,
  }),
  recordedCast: endpoint({
    method: "GET",
    path: "/v1/recorder/cast",
    summary: "What the terminal showed in a span of time, as asciicast v2",
    description: "It begins with the screen at `from`. A large answer ends early; `next_utc` continues it.",
    query: Strict({
      from: at,
      until: Type.Optional({ ...at, description: "RFC 3339; default: a minute after `from`" }),
    }),
    status: 200,
    response: RecordedCast,
    errors: nothingRecorded,
  }),
} as const;
