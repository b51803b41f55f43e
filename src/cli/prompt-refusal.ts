import { Value } from "@sinclair/typebox/value";
import type { GatewayStatus, PromptRefusalCode } from "../protocol/gateway.ts";
import { ErrorBody } from "../protocol/wire.ts";
import type { GatewayClient } from "../services/fleet/gateway-client.ts";
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

/**
 * The same client, whose refusals of a request say what can be done. The gateway's own body tells only people why, so
 * its status is asked; and only we know how the agent is named on this command line.
 */
export function adviseRefusals(client: GatewayClient, words: string): GatewayClient {
  return {
    ...client,
    async call(name, options) {
      const reply = await client.call(name, options);
      if (name !== "submitRequest" || reply.kind !== "refused") return reply;
      const status = await client.call("status", {});
      const step = status.kind === "ok" ? stepAfterBlocked(status.body, words) : null;
      if (step === null || !Value.Check(ErrorBody, reply.body)) return reply;
      const detail = `${reply.detail}. ${step}`;
      return { ...reply, detail, body: { ...reply.body, detail } };
    },
  };
}

/** What opens a queue again that takes no requests; null for one that does. Pure. */
export function stepAfterBlocked(
  status: Pick<GatewayStatus, "request_admission" | "admission_block">,
  words: string,
): string | null {
  const { request_admission: admission, admission_block: block } = status;
  switch (admission) {
    case "open":
      return null;
    case "blocked_reconciliation":
      return stepAfterRefusal("blocked_reconciliation", words);
    case "blocked_unavailable":
      // What else closes it says by itself what to do.
      return block && block.reason !== "agent_unavailable" ? null : stepAfterRefusal("unavailable", words);
    default:
      return assertNever(admission);
  }
}
