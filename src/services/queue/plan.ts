import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { Readiness, Refusal, SubmitPolicy } from "../agent/agent.ts";

export type Plan =
  | { do: "rest" }
  /** Nothing is eligible: `head` is the oldest request and `refusal` says what it waits for. */
  | { do: "wait"; head: StoredRequest; refusal: Refusal }
  | { do: "run"; request: StoredRequest };

/** How a stored prompt asks to be delivered (ruling 7). */
export function policyOf(request: StoredRequest): SubmitPolicy {
  return request.lane === "immediate" ? "composer" : "turn_boundary";
}

/**
 * Picks the oldest eligible request. `heads`: the oldest accepted request of each lane, oldest first. An interrupt
 * is always eligible and so overtakes prompts that wait; a prompt is eligible when the agent can take it under its
 * delivery. Source: contract 3.1; rulings 7 and 8.
 */
export function planNext(
  heads: readonly StoredRequest[],
  readiness: (policy: SubmitPolicy) => Readiness,
): Plan {
  let waiting: Extract<Plan, { do: "wait" }> | null = null;
  for (const request of heads) {
    if (request.kind === "interrupt") return { do: "run", request };
    const answer = readiness(policyOf(request));
    if (answer.ready) return { do: "run", request };
    waiting ??= { do: "wait", head: request, refusal: answer };
  }
  return waiting ?? { do: "rest" };
}
