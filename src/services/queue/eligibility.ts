import type { StoredRequest } from "../../db/gateway/request-store.ts";
import { patterns } from "../../protocol/enforced.ts";
import type {
  AdmissionBlock,
  AdmissionPolicy,
  ChatSession,
  Execution,
  GatewayRequest,
  PromptControlRequest,
  PromptPayload,
  PromptRefusalCode,
  RequestAdmission,
  TypingLease,
} from "../../protocol/gateway.ts";
import { assertNever, ServiceError } from "../../system/errors.ts";
import type { Connectivity, Readiness, SubmitPolicy } from "../agent/agent.ts";

/*
 * All rules that decide whether a prompt may be typed. Each function lists its precedence: the first reason
 * wins.
 *
 * A queued prompt is judged twice: `refuseRequest` when it arrives, `decideNext` when it is the next one. A
 * direct prompt is judged once, by `decideDirectPrompt`. In both cases the agent decides last: it reads its
 * state again when it is reserved, right before the first byte (`judgeReadiness`).
 *
 * All functions are pure.
 */

/**
 * Whether new work is admitted. Precedence of the reasons against it:
 *
 * 1. the agent is not connected: `blocked_unavailable`;
 * 2. nothing can be stored: `blocked_unavailable`, as for an agent that is not connected (ruling 32);
 * 3. the agent is a new instance: `blocked_reconciliation`.
 *
 * Source: spec/gateway.md 2.1.
 */
export function decideAdmission(facts: {
  connectivity: Connectivity;
  /** Why nothing can be stored now. */
  storage: AdmissionBlock | null;
  reconciliationRequired: boolean;
}): Admission {
  const { connectivity, storage } = facts;
  if (!connectivity.connected) {
    const { unusable = "agent_unavailable", detail } = connectivity;
    return { state: "blocked_unavailable", block: { reason: unusable, detail } };
  }
  if (storage) return { state: "blocked_unavailable", block: storage };
  if (facts.reconciliationRequired) {
    const detail = "the agent is a new instance and its queue is closed";
    return { state: "blocked_reconciliation", block: { reason: "reconciliation_required", detail } };
  }
  return { state: "open", block: null };
}

export interface Admission {
  state: RequestAdmission;
  /** Why admission is not open; null when it is. */
  block: AdmissionBlock | null;
}

interface RequestFacts {
  reconciliationRequired: boolean;
  connected: boolean;
  connectivityDetail: string;
  /** Set for an agent whose turns are separate processes. */
  headless: {
    /** Whether a request or a turn with this id exists. */
    isTurnIdUsed: (turnId: string) => boolean;
    /** Why the tool cannot run a turn with this execution, as a clause for people; null when it can. */
    executionProblem: (execution: Execution | undefined) => string | null;
  } | null;
}

/**
 * Why a request may not enter the queue; null when it may. Precedence:
 *
 * 1. the chat session is invalid: `invalid_request`;
 * 2. the agent is a new instance: `blocked_reconciliation`;
 * 3. the agent is not connected: `unavailable`;
 * 4. the backend does not support an option of the prompt: `invalid_request`;
 * 5. the turn id is in use: `conflict`.
 *
 * Only 2 and 3 apply to an interrupt. A busy agent does not refuse: the prompt waits (ruling 8). Source:
 * contract 4.3, 7; spec/gateway.md 2.2.
 */
export function refuseRequest(request: GatewayRequest, facts: RequestFacts): ServiceError | null {
  const chatProblem = request.kind === "interrupt" ? null : chatSessionProblem(request.payload.chat_session);
  if (chatProblem) {
    return new ServiceError("invalid_request", `payload.chat_session: invalid_chat_session: ${chatProblem}`);
  }
  if (facts.reconciliationRequired) {
    return new ServiceError(
      "blocked_reconciliation",
      "the agent is a new instance; reconcile before new work",
    );
  }
  if (!facts.connected) return new ServiceError("unavailable", facts.connectivityDetail);
  if (request.kind === "interrupt") return null;
  return facts.headless
    ? refuseTurn(request.payload, facts.headless)
    : refuseTerminalOptions(request.payload);
}

function refuseTurn(
  payload: PromptPayload,
  headless: NonNullable<RequestFacts["headless"]>,
): ServiceError | null {
  const problem = headless.executionProblem(payload.execution);
  if (problem) return new ServiceError("invalid_request", `payload.execution: invalid_execution: ${problem}`);
  if (payload.turn_id !== undefined && headless.isTurnIdUsed(payload.turn_id)) {
    return new ServiceError("conflict", `turn ${payload.turn_id} exists or waits already`);
  }
  return null;
}

function refuseTerminalOptions(payload: PromptPayload): ServiceError | null {
  if (payload.execution) {
    return new ServiceError(
      "invalid_request",
      "payload.execution: a terminal agent runs the model it was started with",
    );
  }
  if (payload.chat_session || payload.turn_id) {
    return new ServiceError(
      "invalid_request",
      "payload.chat_session and payload.turn_id are for headless agents",
    );
  }
  return null;
}

const idForm = new RegExp(patterns.chatSessionId);

/**
 * Why a chat session is invalid; null when it is valid. Only mode `exact` has an id, and an id must not look
 * like a flag. The rule is the same for terminal and headless agents (ruling 30).
 */
export function chatSessionProblem(wanted: ChatSession | undefined): string | null {
  if (!wanted) return null;
  if (wanted.mode !== "exact") {
    return wanted.id === undefined ? null : `chat_session.id belongs to mode exact, not ${wanted.mode}`;
  }
  if (wanted.id === undefined) return "chat_session.mode exact needs an id";
  return idForm.test(wanted.id) ? null : "chat_session.id: nothing invisible, and no dash in front";
}

/** The present use of the execution slot. */
export interface SlotUse {
  /** Whether a request of the queue runs. */
  request: boolean;
  /** `attempt`: the delivery of a reminder reads the agent's state and has typed nothing yet. */
  reminder: "attempt" | "execution" | null;
  /** The notifier's work on the agent's context before a wake-up, as a clause for people. */
  contextMaintenance: string | null;
  /** Whether a headless turn runs, for a request or for a direct prompt. */
  turn: boolean;
  /** The lease of the person who types into the terminal. */
  typing: TypingLease | null;
  /** The reached budget that keeps turns from beginning, as a clause for people. */
  budget: string | null;
}

/** Whether work that has begun holds the slot. The attempt of a reminder has not begun. */
export function isSlotRunning(use: SlotUse): boolean {
  return use.request || use.reminder === "execution" || use.contextMaintenance !== null || use.turn;
}

/** Work that wants the slot. An `interrupt` stops the running work, so it never waits (ruling 8). */
export type SlotClaimant = "request" | "interrupt" | "reminder" | "direct_prompt";

/** Why a claimant may not take the slot now, as a clause for people; null when it may. */
export type SlotRefusal = string | null;

/**
 * Whether `claimant` may take the execution slot. A running turn does not count here, since the agent's
 * readiness covers it. Rows: the claimant. Columns: the holder of the slot, the strongest first; "maintenance" is
 * that of the context, "lease" the typing lease.
 *
 * |               | request | reminder: attempt | reminder: execution | maintenance | lease   | budget  |
 * | request       | itself  | waits             | waits               | waits       | waits   | waits   |
 * | interrupt     | may     | may               | may                 | may         | may     | may     |
 * | reminder      | waits   | itself            | itself              | waits       | waits   | waits   |
 * | direct prompt | refused | may               | refused             | refused     | refused | refused |
 *
 * Source: contract 2.2, 4.2; ruling 8.
 */
export function refuseSlot(claimant: SlotClaimant, use: SlotUse): SlotRefusal {
  const byRequest = use.request ? "a request is being executed" : null;
  const byReminder = use.reminder === null ? null : "a reminder is being delivered";
  const byOther = use.contextMaintenance ?? (use.typing && typedByHand(use.typing)) ?? use.budget;
  switch (claimant) {
    case "interrupt":
      return null;
    case "request":
      return byReminder ?? byOther;
    case "reminder":
      return byRequest ?? byOther;
    case "direct_prompt":
      return byRequest ?? (use.reminder === "execution" ? byReminder : null) ?? byOther;
    default:
      return assertNever(claimant);
  }
}

function typedByHand({ holder, until_utc }: TypingLease): string {
  return `"${holder}" types in the terminal, until ${until_utc} at most without a key`;
}

/** The facts for the choice of the next request. */
export interface NextFacts {
  admission: RequestAdmission;
  /** Why admission is not open; null when it is. */
  block: AdmissionBlock | null;
  epoch: number;
  /** The oldest accepted request of each lane, oldest first. */
  heads: readonly StoredRequest[];
  slot: SlotUse;
  readiness: (policy: SubmitPolicy) => Readiness;
}

export type NextDecision =
  | { do: "rest" }
  /** No request is eligible. `head`: the oldest one; `reason` and `detail`: why it waits. */
  | { do: "wait"; head: StoredRequest; reason: string; detail: string }
  /** The request was accepted for an earlier instance of the agent, so it can only fail. */
  | { do: "expire"; request: StoredRequest; errorDetail: string }
  | { do: "run"; request: StoredRequest };

/**
 * Picks the request that takes the slot. Precedence:
 *
 * 1. no request waits: `rest`;
 * 2. admission is not open: the oldest request waits for it;
 * 3. a request was accepted for another instance of the agent: it expires;
 * 4. otherwise the oldest eligible request runs. An interrupt is always eligible, so it overtakes waiting
 *    prompts. A prompt is eligible when
 *    1. no other claimant holds the slot (`refuseSlot`), and
 *    2. the agent is ready for it under its delivery;
 * 5. no request is eligible: the oldest one waits, for the first of 4.1 and 4.2 that fails.
 *
 * Source: contract 3.1; rulings 7 and 8.
 */
export function decideNext(facts: NextFacts): NextDecision {
  const { admission, heads, slot } = facts;
  const [head] = heads;
  if (!head) return { do: "rest" };
  if (admission !== "open") {
    return { do: "wait", head, reason: admission, detail: facts.block?.detail ?? "" };
  }
  const stale = heads.find((one) => one.epoch !== facts.epoch);
  if (stale) {
    const errorDetail = `accepted for instance epoch ${stale.epoch}; the agent is now at ${facts.epoch}`;
    return { do: "expire", request: stale, errorDetail };
  }
  const slotRefusal = refuseSlot("request", slot);
  let waiting: NextDecision | null = null;
  for (const request of heads) {
    if (request.kind === "interrupt") return { do: "run", request };
    if (slotRefusal !== null) {
      waiting ??= { do: "wait", head: request, reason: slotReason(slot), detail: slotRefusal };
      continue;
    }
    const answer = facts.readiness(policyOf(request));
    if (answer.ready) return { do: "run", request };
    waiting ??= { do: "wait", head: request, reason: answer.code, detail: answer.detail };
  }
  return waiting ?? { do: "rest" };
}

function slotReason({ typing, budget }: SlotUse): string {
  if (typing !== null) return "typing_lease";
  return budget === null ? "execution_slot" : "budget";
}

/** The submit policy of a stored prompt, by its delivery (ruling 7). */
export function policyOf(request: StoredRequest): SubmitPolicy {
  return request.lane === "immediate" ? "composer" : "turn_boundary";
}

type DirectPromptDecision =
  | { decision: "refuse"; code: PromptRefusalCode; detail: string }
  | { decision: "dispatch"; policy: SubmitPolicy; newChat: boolean };

interface DirectPromptFacts {
  request: PromptControlRequest;
  policy: AdmissionPolicy;
  /** Whether the backend has direct prompts. */
  supported: boolean;
  reconciliationRequired: boolean;
  connected: boolean;
  /** Whether the agent's screen can be read. */
  tracked: boolean;
  /** Why the agent is not connected, for people. */
  connectivityDetail: string;
  /** Whether the slot is held (`refuseSlot`). */
  running: boolean;
  queueDepth: number;
  /** Set for an agent whose turns are separate processes. */
  headless: DirectTurnFacts | null;
}

export interface DirectTurnFacts {
  /** The running turn, or null. */
  activeTurn: string | null;
  /** Whether a conversation is pinned, which mode `current` needs. */
  currentPinned: boolean;
  /** Why the tool cannot run a turn with this execution; null when it can. */
  executionProblem: string | null;
}

/**
 * Whether a direct prompt may be typed, decided without a new read of the screen. Precedence of the refusals:
 *
 * 1. the chat session is invalid;
 * 2. the backend has no direct prompts;
 * 3. the agent is a new instance;
 * 4. the agent is not connected;
 * 5. the backend does not support an option of the prompt: chat session, policy, execution;
 * 6. the slot is held or requests wait (`ready_only`);
 * 7. the screen cannot be read (not under `always`);
 * 8. a headless agent has no conversation for mode `current`.
 *
 * Source: contract 4.2; spec/gateway.md 4.2.
 */
export function decideDirectPrompt(facts: DirectPromptFacts): DirectPromptDecision {
  const chatProblem = chatSessionProblem(facts.request.chat_session);
  if (chatProblem) return refuse("invalid_chat_session", chatProblem);
  if (!facts.supported) return refuse("unsupported_backend", "this backend has no direct prompt control");
  if (facts.reconciliationRequired) {
    return refuse("blocked_reconciliation", "the agent is a new instance; reconcile before new work");
  }
  if (!facts.connected) return refuse("unavailable", facts.connectivityDetail);
  return facts.headless ? decideDirectTurn(facts, facts.headless) : decideTyped(facts);
}

function decideTyped(facts: DirectPromptFacts): DirectPromptDecision {
  const { request, policy } = facts;
  const mode = request.chat_session?.mode;
  if (mode !== undefined && mode !== "new") {
    return refuse(
      "invalid_chat_session",
      `a terminal agent takes chat_session.mode "new" only, not "${mode}"`,
    );
  }
  if (mode === "new" && policy !== "ready_only") {
    return refuse("invalid_admission_policy", 'chat_session.mode "new" needs admission_policy "ready_only"');
  }
  if (request.execution) {
    return refuse("invalid_execution", "a terminal agent runs the model it was started with");
  }
  if (policy === "ready_only" && (facts.running || facts.queueDepth > 0)) {
    return refuse(
      "not_ready",
      `active_execution=${facts.running ? "running" : "idle"}, queue_depth=${facts.queueDepth}`,
    );
  }
  if (!facts.tracked && policy !== "always") {
    return refuse(
      "tracking_unavailable",
      'this tool\'s screen cannot be read; only admission_policy "always" can drive it',
    );
  }
  return {
    decision: "dispatch",
    policy: policy === "ready_only" ? "turn_boundary" : policy,
    newChat: mode === "new",
  };
}

/** Source: contract 4.2 rule 7; spec/gateway.md 4.2. */
function decideDirectTurn(facts: DirectPromptFacts, headless: DirectTurnFacts): DirectPromptDecision {
  const { request, policy } = facts;
  if (policy !== "ready_only") {
    return refuse("invalid_admission_policy", 'a headless agent takes admission_policy "ready_only" only');
  }
  if (headless.executionProblem) return refuse("invalid_execution", headless.executionProblem);
  if (facts.running || facts.queueDepth > 0 || headless.activeTurn !== null) {
    const posture = `active_execution=${facts.running || headless.activeTurn ? "running" : "idle"}, queue_depth=${facts.queueDepth}`;
    return refuse(
      "not_ready",
      headless.activeTurn ? `${posture}, active_turn=${headless.activeTurn}` : posture,
    );
  }
  if (request.chat_session?.mode === "current" && !headless.currentPinned) {
    return refuse("missing_current_chat_session", "no conversation of the tool is pinned yet");
  }
  return { decision: "dispatch", policy: "turn_boundary", newChat: false };
}

function refuse(code: PromptRefusalCode, detail: string): DirectPromptDecision {
  return { decision: "refuse", code, detail };
}
