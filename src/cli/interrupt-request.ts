import type { RequestRecord } from "../protocol/gateway.ts";
import type { GatewayClient } from "../services/fleet/gateway-client.ts";
import type { Clock } from "../system/clock.ts";
import { bodyOf } from "./gateway-reply.ts";
import { waitForRequest } from "./wait-for-request.ts";

/** An interrupt overtakes what waits (ruling 8): it is done soon or something is wrong. */
const timeoutSeconds = 15;

/** Asks the gateway to interrupt and resolves with the finished record. */
export async function interruptThrough(clock: Clock, client: GatewayClient): Promise<RequestRecord> {
  const body = { schema_version: 1 as const, kind: "interrupt" as const, payload: {} };
  const accepted = bodyOf(await client.call("submitRequest", { body }));
  return waitForRequest(clock, client, accepted.request_id, { until: "finished", timeoutSeconds });
}
