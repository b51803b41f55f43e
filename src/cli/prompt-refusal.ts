import type { PromptRefusalCode } from "../protocol/gateway.ts";
import { assertNever } from "../system/errors.ts";

/** What whoever was refused a direct prompt can do next, or null. `words`: how the agent is named here. Pure. */
export function stepAfterRefusal(code: PromptRefusalCode, words: string): string | null {
  switch (code) {
    case "not_ready":
    case "pending_input":
    case "pending_input_unknown":
      return `Let it wait its turn with: ${words} prompt. See what waits with: ${words} requests list`;
    case "awaiting_decision":
      return `Answer the question with: ${words} gateway tui decide`;
    case "blocked_reconciliation":
      return `Open its queue with: ${words} gateway reconcile`;
    case "unavailable":
      return `Start it again with: ${words} relaunch`;
    case "tracking_unavailable":
    case "dispatch_failed":
      return `See what its terminal shows with: ${words} gateway tui state`;
    case "missing_current_chat_session":
    case "unsupported_backend":
      return `Put it into the queue with: ${words} prompt`;
    case "invalid_chat_session":
    case "invalid_admission_policy":
    case "invalid_execution":
      return null;
    default:
      return assertNever(code);
  }
}
