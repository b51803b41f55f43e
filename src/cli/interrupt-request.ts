import type { RequestRecord } from "../protocol/gateway.ts";
import type { GatewayClient } from "../services/fleet/gateway-client.ts";
import { coalescedInto } from "../services/fleet/request-state.ts";
import type { Clock } from "../system/clock.ts";
import { bodyOf } from "./gateway-reply.ts";
import { waitForRequest } from "./wait-for-request.ts";

/** An interrupt overtakes what waits (ruling 8): it is done soon or something is wrong. */
const timeoutSeconds = 15;

/**
 * Asks the gateway to interrupt. `record`: the finished one of this request; `outcome`: that of the request which did
 * its work, another one where several interrupts waited and were coalesced.
 */
export async function interruptThrough(
  clock: Clock,
  client: GatewayClient,
): Promise<{ record: RequestRecord; outcome: RequestRecord }> {
  const body = { schema_version: 1 as const, kind: "interrupt" as const, payload: {} };
  const accepted = bodyOf(await client.call("submitRequest", { body }));
  const finished = (id: string) => waitForRequest(clock, client, id, { until: "finished", timeoutSeconds });
  const record = await finished(accepted.request_id);
  let outcome = record;
  for (let into = coalescedInto(outcome); into !== null; into = coalescedInto(outcome)) {
    outcome = await finished(into);
  }
  return { record, outcome };
}
