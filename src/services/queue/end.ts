import type { StoredRequest, Transition } from "../../db/gateway/request-store.ts";
import type { Evidence } from "../../protocol/gateway.ts";
import type { InterruptOutcome, SubmitOutcome } from "../agent/agent.ts";
import type { RunningTurn, TurnEnd } from "../agent/turns.ts";

/** How a request left the execution slot, or never got into it. */
export type End = Pick<Transition, "result" | "errorDetail" | "evidence"> & { to: "completed" | "failed" };

/** The end of a request that held the slot. Source: contract 3.1; spec/gateway.md 2.2. */
export function endOf(request: StoredRequest, outcome: SubmitOutcome | InterruptOutcome, at: string): End {
  const done = { request_kind: request.kind, completed_at_utc: at };
  switch (outcome.outcome) {
    case "submitted":
      return { to: "completed", result: done };
    case "interrupted":
    case "no_op":
      return { to: "completed", result: { ...done, outcome: outcome.outcome, detail: outcome.detail } };
    case "refused":
      return { to: "failed", errorDetail: outcome.refusal.detail };
    case "unavailable":
      return { to: "failed", errorDetail: outcome.detail };
    case "failed": {
      const typed = "typed" in outcome ? { typed: outcome.typed } : {};
      return { to: "failed", errorDetail: outcome.detail, result: { outcome: "failed", ...typed } };
    }
  }
}

/** Fields of the event that reports `end`. */
export function toEndEvent(request: StoredRequest, end: End): Record<string, unknown> {
  return {
    request_id: request.requestId,
    request_kind: request.kind,
    ...(end.errorDetail === undefined ? {} : { error_detail: end.errorDetail }),
    ...(end.result === undefined ? {} : { result_json: end.result }),
  };
}

/** The end of a prompt whose turn held the slot until it ended; only a completed turn completes it. */
export function endOfTurn(request: StoredRequest, turn: RunningTurn, ended: TurnEnd, at: string): End {
  const result = { outcome: ended.status, turn_id: turn.turnId, turn_index: turn.turnIndex };
  if (ended.status === "completed") {
    return { to: "completed", result: { request_kind: request.kind, completed_at_utc: at, ...result } };
  }
  return { to: "failed", errorDetail: ended.detail ?? `the turn was ${ended.status}`, result };
}

/** The end of a request whose gateway died while it held the slot; `settled` is what was found of it (ruling 7). */
export function endUnknown(left: StoredRequest, settled: Evidence): End {
  return {
    to: "failed",
    errorDetail: `the gateway ended while this request was being executed; whether the agent took it is unknown; ${settled.proof}`,
    result: unknownOutcome([...left.evidence, settled]),
    evidence: [settled],
  };
}

/** `result_json` of a request of which nothing further can be proved. */
export function unknownOutcome(evidence: readonly Evidence[]): Record<string, unknown> {
  return { outcome: "unknown", seen: evidence.map((one) => one.step) };
}
