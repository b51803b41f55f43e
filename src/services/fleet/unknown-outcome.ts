import type { Endpoint } from "../../protocol/endpoint.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { ServiceError } from "../../system/errors.ts";
import { type CallResult, refusalOf } from "./gateway-client.ts";

/**
 * The refusal of a request that may have been carried out, because it was sent and no answer came. `key`:
 * with which the gateway keeps a request; null where nothing keeps it. Pure.
 */
export function outcomeUnknown(
  agent: { name: string; id: string },
  why: string,
  key: string | null,
): ServiceError {
  const remedy: Remedy =
    key === null
      ? { code: "show_state", agent_id: agent.id }
      : { code: "find_outcome", key, agent_name: agent.name };
  return new ServiceError(
    "outcome_unknown",
    `it is not known whether the gateway of "${agent.name}" did it: ${why}`,
    { data: { remedy } },
  );
}

/**
 * As `refusalOf`, of a request that a gateway was asked to accept. Throws `outcome_unknown` when it may have
 * done so.
 */
export function submissionRefusal<E extends Endpoint>(
  response: Exclude<CallResult<E>, { kind: "ok" }>,
  agent: { name: string; id: string },
  key: string | undefined,
) {
  if (response.kind === "unreachable" && response.sent) {
    throw outcomeUnknown(agent, response.detail, key ?? null);
  }
  return refusalOf(response);
}
