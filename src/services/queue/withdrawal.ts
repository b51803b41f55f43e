import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { Withdrawal } from "../../protocol/gateway.ts";
import { assertNever, ServiceError } from "../../system/errors.ts";
import { type End, submitterOf } from "./request.ts";

/** The id of the agent that withdraws a prompt; null for a person. */
export type Withdrawer = string | null;

type WithdrawalDecision =
  | { do: "withdraw"; end: End }
  /** The same caller has already withdrawn it. */
  | { do: "nothing" }
  | { do: "refuse"; error: ServiceError };

/**
 * Whether `by` may withdraw a stored request. Checks, in order: the submitter, so that an agent learns
 * nothing about the prompts of others; the kind; the state. Pure. Source: ruling 38; decision 134.
 */
export function decideWithdrawal(request: StoredRequest, by: Withdrawer): WithdrawalDecision {
  const { requestId, kind, state } = request;
  const refuse = (reason: "conflict" | "precondition_failed", detail: string): WithdrawalDecision => ({
    do: "refuse",
    error: new ServiceError(reason, detail),
  });
  const notSubmitter = by === null ? null : refuseOtherSubmitter(request, by);
  if (notSubmitter !== null) return refuse("precondition_failed", notSubmitter);
  if (kind === "interrupt") {
    return refuse(
      "conflict",
      `${requestId} is an interrupt, which overtakes what waits: it cannot be withdrawn`,
    );
  }
  switch (state) {
    case "accepted":
      return { do: "withdraw", end: endWithdrawn(request, by) };
    case "running":
      return refuse("conflict", `${requestId} is being executed: it can be interrupted, not withdrawn`);
    case "failed":
      if (isWithdrawnBy(request, by)) return { do: "nothing" };
      return refuse("conflict", `${requestId} has ended already: ${request.errorDetail ?? "it failed"}`);
    case "completed":
      return refuse("conflict", `${requestId} was given to the agent already: its turn can be interrupted`);
    case "coalesced":
      return refuse("conflict", `${requestId} has ended already: another request took its place`);
    default:
      return assertNever(state);
  }
}

/** Why the agent `by` may not withdraw the request: another caller submitted it. Null when it may. */
function refuseOtherSubmitter(request: StoredRequest, by: string): string | null {
  const submitter = submitterOf(request);
  if (submitter?.agent_id === by) return null;
  const owner = submitter === null ? "no agent" : `"${submitter.agent_name}"`;
  return `${owner} submitted ${request.requestId}: an agent withdraws its own prompts only, a person all`;
}

function endWithdrawn(request: StoredRequest, by: Withdrawer): End {
  const submitter = submitterOf(request);
  const result: Withdrawal =
    by === null || submitter === null
      ? { outcome: "withdrawn", withdrawn_by: "person" }
      : {
          outcome: "withdrawn",
          withdrawn_by: "agent",
          agent_id: by,
          agent_name: submitter.agent_name,
        };
  const who = result.agent_name === undefined ? "a person" : `"${result.agent_name}"`;
  return { to: "failed", errorDetail: `withdrawn by ${who} before it was typed`, result: { ...result } };
}

function isWithdrawnBy({ result }: StoredRequest, by: Withdrawer): boolean {
  if (result?.["outcome"] !== "withdrawn") return false;
  return by === null ? result["withdrawn_by"] === "person" : result["agent_id"] === by;
}
