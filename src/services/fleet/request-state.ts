import type { RequestRecord } from "../../protocol/gateway.ts";

/** Whether the request waits or is being executed. Pure. */
export function isOpen({ state }: RequestRecord): boolean {
  return state === "accepted" || state === "running";
}

/** The request that answers for one that was coalesced with it, whose own record tells no outcome; else null. Pure. */
export function coalescedInto({ state, result_json: result }: RequestRecord): string | null {
  const into = state === "coalesced" ? result?.["coalesced_into_request_id"] : null;
  return typeof into === "string" ? into : null;
}
