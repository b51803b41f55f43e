import type { PromptRefusalCode } from "../../protocol/gateway.ts";

/** The status under which each refusal of a direct prompt is answered (ruling 9). */
export const refusalStatus: Record<PromptRefusalCode, 409 | 422 | 501 | 503> = {
  not_ready: 409,
  pending_input: 409,
  pending_input_unknown: 409,
  awaiting_decision: 409,
  blocked_reconciliation: 409,
  missing_current_chat_session: 409,
  unavailable: 503,
  tracking_unavailable: 503,
  invalid_chat_session: 422,
  invalid_admission_policy: 422,
  invalid_execution: 422,
  dispatch_failed: 422,
  unsupported_backend: 501,
};
