import type { AdmissionPolicy, PromptControlRequest, PromptRefusalCode } from "../../protocol/gateway.ts";
import type { SubmitPolicy } from "../agent/agent.ts";

export type PromptDecision =
  | { decision: "refuse"; code: PromptRefusalCode; detail: string }
  | { decision: "dispatch"; policy: SubmitPolicy; newChat: boolean };

export interface PromptFacts {
  request: PromptControlRequest;
  policy: AdmissionPolicy;
  /** Direct prompts reach this backend at all. */
  supported: boolean;
  reconciliationRequired: boolean;
  connected: boolean;
  /** The agent's screen can be read. */
  tracked: boolean;
  /** Why the agent is not connected; for people. */
  presenceDetail: string;
  running: boolean;
  queueDepth: number;
}

/**
 * Everything about a direct prompt to a terminal that does not need a fresh look at the screen, in the order in
 * which the refusals win. What the screen decides (readiness, pending input) is proved by the agent right before
 * the first byte. Source: contract 4.2; spec/gateway.md 4.2.
 */
export function decidePromptControl(facts: PromptFacts): PromptDecision {
  const { request, policy } = facts;
  const mode = request.chat_session?.mode;
  const refuse = (code: PromptRefusalCode, detail: string): PromptDecision => ({
    decision: "refuse",
    code,
    detail,
  });
  if (!facts.supported) return refuse("unsupported_backend", "this backend has no direct prompt control");
  if (facts.reconciliationRequired) {
    return refuse("blocked_reconciliation", "the agent is a new instance; reconcile before new work");
  }
  if (!facts.connected) return refuse("unavailable", facts.presenceDetail);
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
