import type { Evidence } from "../../protocol/gateway.ts";
import { messageOf } from "../../system/errors.ts";
import { type Agent, type Refusal, type SubmitOutcome, terminalOf } from "../agent/agent.ts";
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
  agent: Pick<Agent, "reserve" | "terminal">,
  reminder: Pick<Reminder, "prompt" | "send_keys">,
  requestId: string,
  hooks: { begin: () => boolean; onEvidence: (evidence: Evidence) => void },
): Promise<Delivery> {
  const { prompt, send_keys: keys } = reminder;
  if (keys) {
    if (!hooks.begin()) return { outcome: "withdrawn" };
    const sequence = keys.ensure_enter ? withOneEnter(keys.sequence) : keys.sequence;
    return outcomeOf(() => terminalOf(agent).keys({ sequence, literal: false }));
  }
  using permit = await agent.reserve({
    prompt: prompt ?? "",
    // With an id it is no direct prompt, which alone consumes a headless agent's override (contract 2.4).
    requestId,
    policy: "turn_boundary",
    onEvidence: hooks.onEvidence,
  });
  if (!permit.ready) return { outcome: "refused", refusal: permit };
  if (!hooks.begin()) return { outcome: "withdrawn" };
  return await outcomeOf(permit.submit);
}

async function outcomeOf(act: () => Promise<SubmitOutcome | void>): Promise<Delivery> {
  try {
    const outcome = await act();
    return outcome?.outcome === "failed"
      ? { outcome: "failed", detail: outcome.detail }
      : { outcome: "delivered" };
  } catch (error) {
    return { outcome: "failed", detail: messageOf(error) };
  }
}
