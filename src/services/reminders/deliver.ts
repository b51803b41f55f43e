import type { Evidence } from "../../protocol/gateway.ts";
import { messageOf } from "../../system/errors.ts";
import type { Agent, Refusal } from "../agent/agent.ts";
import { withOneEnter } from "../agent/key-sequence.ts";
import type { Reminder } from "./reminder.ts";

type Delivery =
  | { outcome: "delivered" }
  /** Nothing was typed: the agent, looked at afresh, was not fit. */
  | { outcome: "refused"; refusal: Refusal }
  /** Nothing was typed: `begin` said no. */
  | { outcome: "withdrawn" }
  | { outcome: "failed"; detail: string };

/**
 * Gives the agent what a reminder is for. `begin` is asked right before the first byte whether it is still
 * wanted. Never rejects after that.
 */
export async function deliver(
  agent: Pick<Agent, "submit" | "keys">,
  reminder: Pick<Reminder, "prompt" | "send_keys">,
  requestId: string,
  hooks: { begin: () => boolean; onEvidence: (evidence: Evidence) => void },
): Promise<Delivery> {
  let begun = false;
  let withdrawn = false;
  const begin = () => {
    begun = hooks.begin();
    withdrawn = !begun;
    // The agent types nothing when this throws.
    if (withdrawn) throw new Error("the reminder is no longer wanted");
  };
  try {
    const { prompt, send_keys: keys } = reminder;
    if (keys) {
      begin();
      const sequence = keys.ensure_enter ? withOneEnter(keys.sequence) : keys.sequence;
      await agent.keys({ sequence, literal: false });
      return { outcome: "delivered" };
    }
    const outcome = await agent.submit({
      prompt: prompt ?? "",
      // With an id it is no direct prompt, which alone consumes a headless agent's override (contract 2.4).
      requestId,
      policy: "turn_boundary",
      begin,
      onEvidence: hooks.onEvidence,
    });
    if (withdrawn) return { outcome: "withdrawn" };
    if (outcome.outcome === "refused") return outcome;
    if (outcome.outcome === "failed") return { outcome: "failed", detail: outcome.detail };
    return { outcome: "delivered" };
  } catch (error) {
    if (withdrawn) return { outcome: "withdrawn" };
    if (begun) return { outcome: "failed", detail: messageOf(error) };
    throw error;
  }
}
