import type { AdmissionPolicy, PromptControlRequest, PromptRefusalCode } from "../../protocol/gateway.ts";
import type { SubmitPolicy } from "../agent/agent.ts";
import { chatSessionProblem } from "../queue/admission.ts";

type PromptDecision =
  | { decision: "refuse"; code: PromptRefusalCode; detail: string }
  | { decision: "dispatch"; policy: SubmitPolicy; newChat: boolean };

interface PromptFacts {
  request: PromptControlRequest;
  policy: AdmissionPolicy;
  /** Direct prompts reach this backend at all. */
  supported: boolean;
  reconciliationRequired: boolean;
  connected: boolean;
  /** The agent's screen can be read. */
  tracked: boolean;
  /** Why the agent is not connected; for people. */
  connectivityDetail: string;
  running: boolean;
  queueDepth: number;
  /** Set for an agent whose turns are separate processes. */
  headless: HeadlessFacts | null;
}

export interface HeadlessFacts {
  /** The running turn, or null. */
  activeTurn: string | null;
  /** A conversation is pinned, which mode `current` needs. */
  currentPinned: boolean;
  /** Why the tool cannot run a turn like that, or null. */
  executionProblem: string | null;
}

/**
 * Everything about a direct prompt that does not need a fresh look at the screen, in the order in which the
 * refusals win. What the screen decides (readiness, pending input) is proved by the agent right before the
 * first byte. Source: contract 4.2; spec/gateway.md 4.2.
 */
export function decidePromptControl(facts: PromptFacts): PromptDecision {
  const { request, policy } = facts;
  const mode = request.chat_session?.mode;
  const chatProblem = chatSessionProblem(request.chat_session);
  if (chatProblem) return refuse("invalid_chat_session", chatProblem);
  if (!facts.supported) return refuse("unsupported_backend", "this backend has no direct prompt control");
  if (facts.reconciliationRequired) {
    return refuse("blocked_reconciliation", "the agent is a new instance; reconcile before new work");
  }
  if (!facts.connected) return refuse("unavailable", facts.connectivityDetail);
  if (facts.headless) return decideHeadless(facts, facts.headless);
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

/** The rest of it for a headless agent. Source: contract 4.2 rule 7; spec/gateway.md 4.2. */
function decideHeadless(facts: PromptFacts, headless: HeadlessFacts): PromptDecision {
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

function refuse(code: PromptRefusalCode, detail: string): PromptDecision {
  return { decision: "refuse", code, detail };
}
