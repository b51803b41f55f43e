import { type Static, Type } from "@sinclair/typebox";
import { BudgetState } from "./budget.ts";
import { atLeastOne, enforced, keySequencePattern, patterns } from "./enforced.ts";
import { AwaitingDecision, TerminalState } from "./terminal.ts";
import { TokenSum } from "./usage.ts";
import {
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

export const ExecutionMode = StringEnum(["detached_process", "tmux_auxiliary_window"]);
export type ExecutionMode = Static<typeof ExecutionMode>;
export const GatewayHealth = StringEnum(["healthy", "not_attached"]);
export const AgentConnectivity = StringEnum(["connected", "unavailable"]);
export const AgentRecovery = StringEnum(["idle", "awaiting_rebind", "reconciliation_required"]);
export const RequestAdmission = StringEnum(["open", "blocked_unavailable", "blocked_reconciliation"]);
export type RequestAdmission = Static<typeof RequestAdmission>;
export const SurfaceEligibility = StringEnum(["ready", "unknown", "not_ready"]);
export type SurfaceEligibility = Static<typeof SurfaceEligibility>;
export const ActiveExecution = StringEnum(["idle", "running"]);
export type ActiveExecution = Static<typeof ActiveExecution>;

/** Why the oldest accepted request has not started, and since when (additional; ruling 7). */
export const Waiting = Strict({
  reason: Type.String({ description: "turn_boundary, pending_input, draft, awaiting_decision, budget, ..." }),
  detail: Type.String(),
  since_utc: Timestamp,
});
export type Waiting = Static<typeof Waiting>;

/** Why `request_admission` is not `open`, and what to do (additional; ruling 32). */
export const AdmissionBlock = Strict({
  reason: StringEnum([
    "agent_unavailable",
    "manifest_unusable",
    "launch_environment_lost",
    "reconciliation_required",
    "disk_full",
    "database_lost",
    "database_damaged",
    "database_unusable",
    "gateway_unreachable",
  ]),
  detail: Type.String({ description: "with the command that ends it, where one does" }),
});
export type AdmissionBlock = Static<typeof AdmissionBlock>;

/** Reminders that ended with the gateway before this one (additional; ruling 17). */
export const RemindersLost = Strict({
  count: Type.Integer({ minimum: 1, description: "each has an event reminder_lost_on_restart" }),
  at_utc: Timestamp,
});
export type RemindersLost = Static<typeof RemindersLost>;

/**
 * Mail waits and the notifier wakes nobody for it until a limit is over or is raised (additional; ruling 17).
 */
export const WakesHeld = Strict({
  reason: StringEnum(["max_wakes_per_hour", "max_hops", "require_attestation"], {
    description: "the setting that holds them back",
  }),
  detail: Type.String(),
  since_utc: Timestamp,
});
export type WakesHeld = Static<typeof WakesHeld>;

export const TypingLease = Strict(
  {
    holder: Type.String({ description: "who types, as given by that person" }),
    since_utc: Timestamp,
    until_utc: Type.String({
      description: "when it ends by itself; each key moves it, never beyond the longest time",
    }),
  },
  { description: "who types into the terminal by hand" },
);
export type TypingLease = Static<typeof TypingLease>;

export const GatewayStatus = Strict(
  {
    schema_version: SchemaVersion1,
    protocol_version: Type.Literal(protocolVersion),
    attach_identity: Type.String(),
    backend: Type.String(),
    tmux_session_name: Type.String(),
    gateway_health: GatewayHealth,
    managed_agent_connectivity: AgentConnectivity,
    managed_agent_recovery: AgentRecovery,
    request_admission: RequestAdmission,
    terminal_surface_eligibility: SurfaceEligibility,
    active_execution: ActiveExecution,
    execution_mode: ExecutionMode,
    queue_depth: Type.Integer({ minimum: 0, description: "requests accepted or running" }),
    gateway_host: Type.Optional(Type.String()),
    gateway_port: Type.Optional(Type.Integer()),
    gateway_tmux_window_id: Type.Optional(Type.String()),
    gateway_tmux_window_index: Type.Optional(Type.String()),
    gateway_tmux_pane_id: Type.Optional(Type.String()),
    managed_agent_instance_epoch: Type.Integer({ minimum: 0 }),
    managed_agent_instance_id: Type.Optional(Type.String()),
    admission_block: Type.Optional(AdmissionBlock),
    waiting: Type.Optional(Waiting),
    typing_lease: Type.Optional(TypingLease),
    reminders_lost: Type.Optional(RemindersLost),
    wakes_held: Type.Optional(WakesHeld),
    budget: Type.Optional(BudgetState),
    awaiting_decision: Type.Optional(AwaitingDecision),
    tokens: Type.Optional(TokenSum),
  },
  { description: "one gateway's status, also kept as state.json" },
);
export type GatewayStatus = Static<typeof GatewayStatus>;

export const HealthBody = Strict({
  protocol_version: Type.Literal(protocolVersion),
  status: Type.Literal("ok"),
});
export const healthBody = (): Static<typeof HealthBody> => ({
  protocol_version: protocolVersion,
  status: "ok",
});

export const ReasoningPreset = Strict({ level: Type.Integer({ minimum: 0 }) });
export const ModelSelection = Strict(
  {
    name: Type.Optional(NonBlank("model name")),
    reasoning: Type.Optional(ReasoningPreset),
  },
  {
    minProperties: 1,
    description: "a name, a reasoning preset or both",
    ...enforced({
      anyOf: [...atLeastOne(["name"], "string").anyOf, ...atLeastOne(["reasoning"], "object").anyOf],
    }),
  },
);
export const Execution = Strict({ model: ModelSelection });
export type Execution = Static<typeof Execution>;

export const ChatSession = Strict(
  {
    mode: StringEnum(["auto", "new", "current", "tool_last_or_new", "exact"]),
    id: Type.Optional(
      NonBlank("provider session id; with mode exact, and only then", {
        ...enforced({ pattern: patterns.chatSessionId }),
      }),
    ),
  },
  enforced({
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
);
export type ChatSession = Static<typeof ChatSession>;

export const Delivery = StringEnum(["turn_boundary", "immediate"], {
  description:
    "turn_boundary (default): when the agent can begin a new turn; immediate: as soon as it takes input",
});

export const PromptPayload = Strict({
  prompt: NonBlank("the text to submit"),
  turn_id: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$" })),
  chat_session: Type.Optional(ChatSession),
  execution: Type.Optional(Execution),
  delivery: Type.Optional(Delivery),
});
export type PromptPayload = Static<typeof PromptPayload>;

/** How many agents may hand a task on before the chain is taken for a loop. */
export const maxPromptHops = 8;

/** Which agent submitted a prompt, as its own program says (additional; ruling 17). */
export const Submitter = Strict({
  agent_id: NonBlank("id of the agent that submits", { maxLength: 200 }),
  agent_name: NonBlank("its name", { maxLength: 200 }),
  hops: Type.Integer({
    minimum: 1,
    maximum: maxPromptHops,
    description: "1 when no agent asked it to, else one more than of the prompt that it works on",
  }),
});
export type Submitter = Static<typeof Submitter>;

export const SubmitPromptRequest = Strict({
  schema_version: Type.Optional(SchemaVersion1),
  kind: Type.Literal("submit_prompt"),
  payload: PromptPayload,
  submitted_by: Type.Optional(Submitter),
});
export const InterruptRequest = Strict({
  schema_version: Type.Optional(SchemaVersion1),
  kind: Type.Literal("interrupt"),
  payload: Type.Optional(Strict({})),
});
export const GatewayRequest = Type.Union([SubmitPromptRequest, InterruptRequest], {
  description: "work for the durable queue",
});
export type GatewayRequest = Static<typeof GatewayRequest>;

export const PublicRequestKind = StringEnum(["submit_prompt", "interrupt"]);
export const StoredRequestKind = StringEnum(["submit_prompt", "interrupt", "mail_notifier_prompt"]);
export type StoredRequestKind = Static<typeof StoredRequestKind>;
export const RequestState = StringEnum(["accepted", "running", "completed", "failed", "coalesced"]);
export type RequestState = Static<typeof RequestState>;

export const AcceptedRequest = Strict({
  request_id: Type.String(),
  request_kind: PublicRequestKind,
  state: Type.Literal("accepted"),
  accepted_at_utc: Timestamp,
  queue_depth: Type.Integer(),
  managed_agent_instance_epoch: Type.Integer(),
});
export type AcceptedRequest = Static<typeof AcceptedRequest>;

/** One step of a request and the evidence for it (additional; ruling 17). */
export const Evidence = Strict({
  step: StringEnum(["accepted", "typed", "submitted", "turn_started", "turn_ended", "settled"], {
    description: "settled: what was seen and done after the gateway that executed it had died",
  }),
  at_utc: Timestamp,
  proof: Type.String(),
  agent_ended: Type.Optional(
    Type.Literal(true, { description: "the agent's program ended, and the turn with it" }),
  ),
  typed_along: Type.Optional(
    Type.String({
      description:
        "what a person typed at the moment of Enter and the tool took with the prompt, at most 200 characters",
    }),
  ),
});
export type Evidence = Static<typeof Evidence>;

export const RequestRecord = Strict(
  {
    schema_version: SchemaVersion1,
    request_id: Type.String(),
    request_kind: StoredRequestKind,
    state: RequestState,
    accepted_at_utc: Timestamp,
    started_at_utc: Nullable(Timestamp),
    finished_at_utc: Nullable(Timestamp),
    managed_agent_instance_epoch: Type.Integer(),
    error_detail: Nullable(Type.String()),
    result_json: Nullable(Type.Record(Type.String(), Type.Unknown())),
    prompt_length: Type.Optional(
      Type.Integer({
        description: "characters; the prompt itself is not shown; left out of lists for a long one",
      }),
    ),
    turn_id: Type.Optional(Type.String({ description: "its headless turn, once it is known" })),
    submitted_by: Type.Optional(
      Type.Object(Submitter.properties, {
        additionalProperties: false,
        description: "the agent that submitted it; left out for a person, and in lists for a long prompt",
      }),
    ),
    waiting: Type.Optional(Waiting),
    evidence: Type.Array(Evidence, { ...shortList, description: "oldest first" }),
    idempotency_key: Type.Optional(
      Type.String({ description: "what its caller sent as Idempotency-Key; left out without one" }),
    ),
  },
  { description: "a stored request and how far it got" },
);
export type RequestRecord = Static<typeof RequestRecord>;

/** Whether somebody ended its headless turn: the contract's states have only `failed` for it. Pure. */
export const wasInterrupted = ({
  state,
  result_json,
}: Pick<RequestRecord, "state" | "result_json">): boolean =>
  state === "failed" && result_json?.["outcome"] === "interrupted";

export const RequestList = Strict({
  schema_version: SchemaVersion1,
  requests: Type.Array(RequestRecord, { maxItems: maxPage, description: "newest first" }),
});

/** What a list of agents shows of one, in one answer. */
export const GatewaySnapshot = Strict({
  schema_version: SchemaVersion1,
  status: GatewayStatus,
  terminal: Nullable(TerminalState),
  requests: Type.Array(RequestRecord, { maxItems: maxPage, description: "newest first" }),
});
export type GatewaySnapshot = Static<typeof GatewaySnapshot>;

export const AdmissionPolicy = StringEnum(["ready_only", "if_no_pending", "always"]);
export type AdmissionPolicy = Static<typeof AdmissionPolicy>;

export const PromptControlRequest = Strict({
  schema_version: Type.Optional(Type.Literal(2, { description: "version of this shape" })),
  prompt: NonBlank("the text to submit at once"),
  admission_policy: Type.Optional(AdmissionPolicy),
  execution: Type.Optional(Execution),
  chat_session: Type.Optional(ChatSession),
});
export type PromptControlRequest = Static<typeof PromptControlRequest>;

/**
 * The shape of a submission, queued or direct, of which only the prompt is read (contract 4.1; ruling 29).
 */
export const NotePromptRequest = Strict({
  ...PromptPayload.properties,
  schema_version: Type.Optional(SchemaVersion1),
  prompt: NonBlank("the prompt that was typed by other means; nothing else is read"),
  admission_policy: Type.Optional(AdmissionPolicy),
});

export const PromptControlResult = Strict({
  status: Type.Literal("ok"),
  action: Type.Literal("submit_prompt"),
  sent: Type.Literal(true),
  admission_policy: AdmissionPolicy,
  detail: Type.String(),
  turn_id: Type.Optional(Type.String({ description: "the turn that was begun, headless only" })),
  turn_index: Type.Optional(Type.Integer()),
});
export type PromptControlResult = Static<typeof PromptControlResult>;

export const PromptRefusalCode = StringEnum([
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
]);
export type PromptRefusalCode = Static<typeof PromptRefusalCode>;

export const PromptRefusal = Strict({
  status: Type.Literal("error"),
  action: Type.Literal("submit_prompt"),
  sent: Type.Literal(false),
  admission_policy: AdmissionPolicy,
  error_code: PromptRefusalCode,
  detail: Type.String(),
});
export type PromptRefusal = Static<typeof PromptRefusal>;
export const PromptRefusalBody = Strict({ detail: PromptRefusal });

export const SendKeysRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    sequence: NonBlank("text and <[Key]> tokens", { maxLength: maxSequence }),
    escape_special_keys: Type.Optional(Type.Boolean()),
  },
  enforced({
    anyOf: [
      { properties: { sequence: { type: "string", pattern: keySequencePattern } } },
      { required: ["escape_special_keys"], properties: { escape_special_keys: { const: true } } },
    ],
  }),
);
export type SendKeysRequest = Static<typeof SendKeysRequest>;
export const SendKeysResult = Strict({
  status: Type.Literal("ok"),
  action: Type.Literal("control_input"),
  detail: Type.String(),
});
export type SendKeysResult = Static<typeof SendKeysResult>;

/** Answer of the operator's act that lets a new instance of the agent be worked with (ruling 5). */
export const ReconcileResult = Strict({
  schema_version: SchemaVersion1,
  managed_agent_instance_epoch: Type.Integer(),
  failed_request_ids: Type.Array(Type.String(), {
    maxItems: maxListed,
    description: "accepted for an older instance; now failed, never replayed; the oldest ones",
  }),
});
export type ReconcileResult = Static<typeof ReconcileResult>;
