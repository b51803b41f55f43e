import { type Static, Type } from "@sinclair/typebox";
import { BudgetState } from "./budget.ts";
import { atLeastOne, enforced, keySequencePattern, patterns } from "./enforced.ts";
import {
  AcceptanceTime,
  BackendName,
  Detail,
  EventTime,
  InstanceEpoch,
  QueueDepth,
  RequestId,
  SinceTime,
} from "./fields.ts";
import { AwaitingDecision, TerminalState } from "./terminal.ts";
import { TokenSum } from "./usage.ts";
import {
  describe,
  maxListed,
  maxPage,
  maxSequence,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
} from "./wire.ts";

/** Status, requests and prompt control of one gateway. Source: contract 2.1, 2.2, 4.2, 4.3. */

export const protocolVersion = "v1" as const;

export const ExecutionMode = StringEnum(["detached_process", "tmux_auxiliary_window"], {
  description:
    "how the gateway runs; detached_process: a separate process; tmux_auxiliary_window: a window beside the agent",
});
export type ExecutionMode = Static<typeof ExecutionMode>;
export const GatewayHealth = StringEnum(["healthy", "not_attached"], {
  description: "whether a gateway serves the session; not_attached: none does",
});
export const AgentConnectivity = StringEnum(["connected", "unavailable"], {
  description: "whether the gateway reaches the agent",
});
export const AgentRecovery = StringEnum(["idle", "awaiting_rebind", "reconciliation_required"], {
  description:
    "what must happen before work continues; reconciliation_required: the agent is a new instance, and the operator must decide about the waiting requests",
});
export const RequestAdmission = StringEnum(["open", "blocked_unavailable", "blocked_reconciliation"], {
  description: "whether new requests are accepted, or why they are refused",
});
export type RequestAdmission = Static<typeof RequestAdmission>;
export const SurfaceEligibility = StringEnum(["ready", "unknown", "not_ready"], {
  description: "whether a prompt can be typed",
});
export type SurfaceEligibility = Static<typeof SurfaceEligibility>;
export const ActiveExecution = StringEnum(["idle", "running"], {
  description: "running while the gateway executes one request, else idle",
});
export type ActiveExecution = Static<typeof ActiveExecution>;

/** Why the oldest accepted request has not started, and since when (additional; ruling 7). */
export const Waiting = Strict(
  {
    reason: Type.String({
      description: "turn_boundary, pending_input, draft, awaiting_decision, budget, ...",
    }),
    detail: Detail,
    since_utc: SinceTime,
  },
  { description: "why the oldest accepted request has not started" },
);
export type Waiting = Static<typeof Waiting>;

/** Why `request_admission` is not `open`, and what to do (additional; ruling 32). */
export const AdmissionBlock = Strict(
  {
    reason: StringEnum(
      [
        "agent_unavailable",
        "manifest_unusable",
        "launch_environment_lost",
        "reconciliation_required",
        "disk_full",
        "database_lost",
        "database_damaged",
        "database_unusable",
        "gateway_unreachable",
      ],
      { description: "why admission is not open" },
    ),
    detail: Type.String({
      description: "explanation, with the command that reopens admission if there is one",
    }),
  },
  { description: "why `request_admission` is not open, and what to do; absent while it is open" },
);
export type AdmissionBlock = Static<typeof AdmissionBlock>;

/** Reminders that ended with the previous gateway (additional; ruling 17). */
export const RemindersLost = Strict(
  {
    count: Type.Integer({ minimum: 1, description: "each has an event reminder_lost_on_restart" }),
    at_utc: describe(Timestamp, "when the previous gateway ended"),
  },
  { description: "reminders that ended with the previous gateway" },
);
export type RemindersLost = Static<typeof RemindersLost>;

/**
 * Mail waits, and a limit keeps the notifier from waking the agent (additional; ruling 17).
 */
export const WakesHeld = Strict(
  {
    reason: StringEnum(["max_wakes_per_hour", "max_hops", "require_attestation"], {
      description: "the setting that holds the wake-ups back",
    }),
    detail: Detail,
    since_utc: SinceTime,
  },
  { description: "which limit of the mail notifier keeps mail from waking the agent" },
);
export type WakesHeld = Static<typeof WakesHeld>;

export const TypingLease = Strict(
  {
    holder: Type.String({ description: "the person who types, as named by that person" }),
    since_utc: SinceTime,
    until_utc: Type.String({
      description: "when it ends by itself; each key extends it, up to the maximum",
    }),
  },
  { description: "who types into the terminal by hand; null or absent when nobody does" },
);
export type TypingLease = Static<typeof TypingLease>;

export const GatewayHost = Type.String({
  description: "where the gateway listens; absent or null while none runs",
});
export const GatewayPort = Type.Integer({
  description: "port of the gateway; absent or null while none runs",
});

export const GatewayStatus = Strict(
  {
    schema_version: SchemaVersion1,
    protocol_version: Type.Literal(protocolVersion),
    attach_identity: Type.String({ description: "which session the gateway serves" }),
    backend: BackendName,
    tmux_session_name: Type.String({ description: "tmux session of the agent" }),
    gateway_health: GatewayHealth,
    managed_agent_connectivity: AgentConnectivity,
    managed_agent_recovery: AgentRecovery,
    request_admission: RequestAdmission,
    terminal_surface_eligibility: SurfaceEligibility,
    active_execution: ActiveExecution,
    execution_mode: ExecutionMode,
    queue_depth: QueueDepth,
    gateway_host: Type.Optional(GatewayHost),
    gateway_port: Type.Optional(GatewayPort),
    gateway_tmux_window_id: Type.Optional(
      Type.String({ description: "tmux window of a gateway in a window" }),
    ),
    gateway_tmux_window_index: Type.Optional(Type.String({ description: "index of that window; never 0" })),
    gateway_tmux_pane_id: Type.Optional(Type.String({ description: "tmux pane of a gateway in a window" })),
    managed_agent_instance_epoch: Type.Integer({
      description: "number of the agent's instance; each new instance has the next number",
      minimum: 0,
    }),
    managed_agent_instance_id: Type.Optional(
      Type.String({ description: "id of the agent's instance, once one was seen" }),
    ),
    admission_block: Type.Optional(AdmissionBlock),
    waiting: Type.Optional(Waiting),
    typing_lease: Type.Optional(TypingLease),
    reminders_lost: Type.Optional(describe(RemindersLost, "absent when the previous gateway had none")),
    wakes_held: Type.Optional(describe(WakesHeld, "absent when no limit holds mail back")),
    budget: Type.Optional(describe(BudgetState, "absent while no budget is reached")),
    awaiting_decision: Type.Optional(AwaitingDecision),
    tokens: Type.Optional(TokenSum),
  },
  { description: "one gateway's status, also kept as state.json" },
);
export type GatewayStatus = Static<typeof GatewayStatus>;

export const HealthBody = Strict(
  {
    protocol_version: Type.Literal(protocolVersion),
    status: Type.Literal("ok"),
  },
  { description: "the gateway answers" },
);
export const healthBody = (): Static<typeof HealthBody> => ({
  protocol_version: protocolVersion,
  status: "ok",
});

export const ReasoningPreset = Strict(
  {
    level: Type.Integer({
      description:
        "index of the model's reasoning presets; a number above the highest selects the highest, 0 turns reasoning off if the model allows it",
      minimum: 0,
    }),
  },
  { description: "how much the model reasons" },
);
export const ModelSelection = Strict(
  {
    name: Type.Optional(NonBlank("name of the model, as the tool takes it")),
    reasoning: Type.Optional(
      describe(ReasoningPreset, "how much the model reasons; the tool's default without it"),
    ),
  },
  {
    minProperties: 1,
    description: "the model, its reasoning preset or both",
    ...enforced({
      anyOf: [...atLeastOne(["name"], "string").anyOf, ...atLeastOne(["reasoning"], "object").anyOf],
    }),
  },
);
export const Execution = Strict(
  { model: ModelSelection },
  { description: "model and reasoning for one prompt; headless agents only" },
);
export type Execution = Static<typeof Execution>;

export const ChatSession = Strict(
  {
    mode: StringEnum(["auto", "new", "current", "tool_last_or_new", "exact"], {
      description:
        "auto: the pinned conversation, else a new one; current: the pinned one or a refusal; exact: the one named by `id`",
    }),
    id: Type.Optional(
      NonBlank("provider session id; with mode exact, and only then", {
        ...enforced({ pattern: patterns.chatSessionId }),
      }),
    ),
  },
  {
    ...enforced({
      anyOf: [
        { required: ["id"], properties: { mode: { const: "exact" }, id: { type: "string" } } },
        {
          properties: {
            mode: { enum: ["auto", "new", "current", "tool_last_or_new"] },
            id: { type: "null" },
          },
        },
      ],
    }),
    description: "the conversation that a prompt belongs to; `id` with mode exact, and only then",
  },
);
export type ChatSession = Static<typeof ChatSession>;

export const Delivery = StringEnum(["turn_boundary", "immediate"], {
  description:
    "turn_boundary (default): when the agent can begin a new turn; immediate: as soon as it takes input",
});

export const PromptPayload = Strict(
  {
    prompt: NonBlank("the text to submit"),
    turn_id: Type.Optional(
      Type.String({
        description: "id for the headless turn; generated when absent",
        pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
      }),
    ),
    chat_session: Type.Optional(ChatSession),
    execution: Type.Optional(Execution),
    delivery: Type.Optional(Delivery),
  },
  { description: "a prompt and how to deliver it" },
);
export type PromptPayload = Static<typeof PromptPayload>;

/** Agents that may hand a task on in a row; a longer chain is refused as a loop. */
export const maxPromptHops = 8;

/** The agent that submitted a prompt, as its program reports it (additional; ruling 17). */
export const Submitter = Strict(
  {
    agent_id: NonBlank("id of the agent that submits", { maxLength: 200 }),
    agent_name: NonBlank("its name", { maxLength: 200 }),
    hops: Type.Integer({
      minimum: 1,
      maximum: maxPromptHops,
      description:
        "1 for an agent that works for a person, else one more than the hops of the prompt that it works on",
    }),
  },
  { description: "the agent that submitted a prompt; left out by a person" },
);
export type Submitter = Static<typeof Submitter>;

export const SubmitPromptRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    kind: Type.Literal("submit_prompt"),
    payload: PromptPayload,
    submitted_by: Type.Optional(Submitter),
  },
  { description: "queue a prompt" },
);
export const InterruptRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    kind: Type.Literal("interrupt"),
    payload: Type.Optional(Strict({}, { description: "an empty object" })),
  },
  { description: "stop the running turn; overtakes waiting requests" },
);
export const GatewayRequest = Type.Union([SubmitPromptRequest, InterruptRequest], {
  description: "work for the durable queue",
});
export type GatewayRequest = Static<typeof GatewayRequest>;

export const PublicRequestKind = StringEnum(["submit_prompt", "interrupt"], {
  description: "kind of a request that callers may submit",
});
export const StoredRequestKind = StringEnum(["submit_prompt", "interrupt", "mail_notifier_prompt"], {
  description: "kind of a stored request; the mail notifier submits mail_notifier_prompt",
});
export type StoredRequestKind = Static<typeof StoredRequestKind>;
export const RequestState = StringEnum(["accepted", "running", "completed", "failed", "coalesced"], {
  description: "how far a request got; completed, failed and coalesced are final",
});
export type RequestState = Static<typeof RequestState>;

export const AcceptedRequest = Strict(
  {
    request_id: RequestId,
    request_kind: PublicRequestKind,
    state: Type.Literal("accepted"),
    accepted_at_utc: AcceptanceTime,
    queue_depth: QueueDepth,
    managed_agent_instance_epoch: InstanceEpoch,
  },
  { description: "a request that is on disk and waits for its turn" },
);
export type AcceptedRequest = Static<typeof AcceptedRequest>;

/** One step of a request and the evidence for it (additional; ruling 17). */
export const Evidence = Strict(
  {
    step: StringEnum(["accepted", "typed", "submitted", "turn_started", "turn_ended", "settled"], {
      description: "settled: the recovery after the gateway died that executed the request",
    }),
    at_utc: EventTime,
    proof: Type.String({ description: "the observation that proves the step" }),
    agent_ended: Type.Optional(
      Type.Literal(true, { description: "the agent's program ended, and the turn with it" }),
    ),
    typed_along: Type.Optional(
      Type.String({
        description:
          "text of a person, typed at the moment of Enter, that the tool took with the prompt; at most 200 characters",
      }),
    ),
  },
  { description: "one step of a request, with its proof" },
);
export type Evidence = Static<typeof Evidence>;

export const RequestRecord = Strict(
  {
    schema_version: SchemaVersion1,
    request_id: RequestId,
    request_kind: StoredRequestKind,
    state: RequestState,
    accepted_at_utc: AcceptanceTime,
    started_at_utc: Nullable(describe(Timestamp, "when the request started; null before")),
    finished_at_utc: Nullable(describe(Timestamp, "when the request ended; null before")),
    managed_agent_instance_epoch: InstanceEpoch,
    error_detail: Nullable(Type.String({ description: "why it failed; null when it did not" })),
    result_json: Nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          "the result; of a coalesced request, the request that superseded it; null before the end",
      }),
    ),
    prompt_length: Type.Optional(
      Type.Integer({
        description: "characters of the prompt; lists leave it out for a long prompt",
      }),
    ),
    turn_id: Type.Optional(Type.String({ description: "its headless turn, once it is known" })),
    submitted_by: Type.Optional(
      Type.Object(Submitter.properties, {
        additionalProperties: false,
        description: "the agent that submitted it; left out for a person, and in lists for a long prompt",
      }),
    ),
    waiting: Type.Optional(describe(Waiting, "why it has not started; only of the oldest accepted request")),
    evidence: Type.Array(Evidence, { ...shortList, description: "oldest first" }),
    idempotency_key: Type.Optional(
      Type.String({ description: "Idempotency-Key of the caller; absent without one" }),
    ),
    number: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "number in this queue, in the order of acceptance; never used again",
      }),
    ),
    prompt: Type.Optional(
      Type.String({ description: "text of the prompt; only for a single request with `include`" }),
    ),
    options: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "options of the prompt, such as `delivery`; only with `prompt`",
      }),
    ),
  },
  { description: "a stored request and how far it got" },
);
export type RequestRecord = Static<typeof RequestRecord>;

/** The result of a request that was withdrawn (ruling 38). */
export interface Withdrawal {
  outcome: "withdrawn";
  withdrawn_by: "person" | "agent";
  /** Of the agent that withdrew it. */
  agent_id?: string;
  agent_name?: string;
}

/** Whether the headless turn was interrupted; the contract's state for that is `failed`. Pure. */
export const wasInterrupted = ({
  state,
  result_json,
}: Pick<RequestRecord, "state" | "result_json">): boolean =>
  state === "failed" && result_json?.["outcome"] === "interrupted";

/** Whether the request was withdrawn before it was typed (ruling 38). Pure. */
export const wasWithdrawn = ({ state, result_json }: Pick<RequestRecord, "state" | "result_json">): boolean =>
  state === "failed" && result_json?.["outcome"] === "withdrawn";

export const RequestList = Strict(
  {
    schema_version: SchemaVersion1,
    requests: Type.Array(RequestRecord, { maxItems: maxPage, description: "newest first" }),
  },
  { description: "requests, newest first" },
);

/** Status, terminal and newest requests of one agent, for lists of agents. */
export const GatewaySnapshot = Strict(
  {
    schema_version: SchemaVersion1,
    status: describe(GatewayStatus, "as `/v1/status` answers"),
    terminal: Nullable(
      describe(
        TerminalState,
        "as `/v1/control/tui/state` answers; null for an agent whose terminal is not tracked",
      ),
    ),
    requests: Type.Array(RequestRecord, { maxItems: maxPage, description: "newest first" }),
  },
  { description: "the state of a gateway and its agent at one moment" },
);
export type GatewaySnapshot = Static<typeof GatewaySnapshot>;

export const AdmissionPolicy = StringEnum(["ready_only", "if_no_pending", "always"], {
  description:
    "condition for typing the prompt; ready_only (default): the agent is idle and its screen ready; if_no_pending: the agent has no pending input; always: no condition",
});
export type AdmissionPolicy = Static<typeof AdmissionPolicy>;

export const PromptControlRequest = Strict(
  {
    schema_version: Type.Optional(Type.Literal(2, { description: "version of this shape" })),
    prompt: NonBlank("the text to submit at once"),
    admission_policy: Type.Optional(AdmissionPolicy),
    execution: Type.Optional(Execution),
    chat_session: Type.Optional(ChatSession),
  },
  { description: "a prompt to be typed at once or not at all" },
);
export type PromptControlRequest = Static<typeof PromptControlRequest>;

/**
 * The fields of a submission, queued or direct; only `prompt` is read (contract 4.1; ruling 29).
 */
export const NotePromptRequest = Strict(
  {
    ...PromptPayload.properties,
    schema_version: Type.Optional(SchemaVersion1),
    prompt: NonBlank("the prompt that was typed by other means; the other fields are ignored"),
    admission_policy: Type.Optional(AdmissionPolicy),
  },
  { description: "a prompt that was typed by other means" },
);

export const PromptControlResult = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("submit_prompt"),
    sent: Type.Literal(true),
    admission_policy: AdmissionPolicy,
    detail: Detail,
    turn_id: Type.Optional(Type.String({ description: "id of the new turn, headless only" })),
    turn_index: Type.Optional(Type.Integer({ description: "number of the new turn, headless only" })),
  },
  { description: "the agent took the prompt" },
);
export type PromptControlResult = Static<typeof PromptControlResult>;

export const PromptRefusalCode = StringEnum(
  [
    "unsupported_backend",
    "blocked_reconciliation",
    "unavailable",
    "tracking_unavailable",
    "invalid_chat_session",
    "invalid_admission_policy",
    "invalid_execution",
    "not_ready",
    "awaiting_decision",
    "pending_input",
    "pending_input_unknown",
    "missing_current_chat_session",
    "dispatch_failed",
  ],
  { description: "why a direct prompt was refused, for programs" },
);
export type PromptRefusalCode = Static<typeof PromptRefusalCode>;

export const PromptRefusal = Strict(
  {
    status: Type.Literal("error"),
    action: Type.Literal("submit_prompt"),
    sent: Type.Literal(false),
    admission_policy: AdmissionPolicy,
    error_code: PromptRefusalCode,
    detail: Type.String({ description: "why it was refused, and what to do" }),
  },
  { description: "why a direct prompt was not typed" },
);
export type PromptRefusal = Static<typeof PromptRefusal>;
export const PromptRefusalBody = Strict(
  { detail: PromptRefusal },
  { description: "the refusal of a direct prompt" },
);

export const SendKeysRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    sequence: NonBlank("text and <[Key]> tokens", { maxLength: maxSequence }),
    escape_special_keys: Type.Optional(
      Type.Boolean({ description: "true: `<[` is typed as text, not read as a key" }),
    ),
  },
  {
    ...enforced({
      anyOf: [
        { properties: { sequence: { type: "string", pattern: keySequencePattern } } },
        { required: ["escape_special_keys"], properties: { escape_special_keys: { const: true } } },
      ],
    }),
    description: "keys to press",
  },
);
export type SendKeysRequest = Static<typeof SendKeysRequest>;
export const SendKeysResult = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("control_input"),
    detail: Detail,
  },
  { description: "the keys were pressed" },
);
export type SendKeysResult = Static<typeof SendKeysResult>;

/** Answer of a reconcile (ruling 5). */
export const ReconcileResult = Strict(
  {
    schema_version: SchemaVersion1,
    managed_agent_instance_epoch: InstanceEpoch,
    failed_request_ids: Type.Array(Type.String(), {
      maxItems: maxListed,
      description: "requests accepted for an older instance, now failed and never replayed; the oldest ones",
    }),
  },
  { description: "the requests of older instances that were failed" },
);
export type ReconcileResult = Static<typeof ReconcileResult>;

export const KeepRequestsResult = Strict(
  {
    schema_version: SchemaVersion1,
    managed_agent_instance_epoch: InstanceEpoch,
    kept_request_ids: Type.Array(Type.String(), {
      maxItems: maxListed,
      description: "requests accepted for an older instance that the present one gets; the oldest ones",
    }),
  },
  { description: "the requests of older instances that were kept" },
);
export type KeepRequestsResult = Static<typeof KeepRequestsResult>;
