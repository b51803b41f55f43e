import type { Endpoint } from "../../protocol/endpoint.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Reply } from "./gateway-client.ts";

/** What came of an operation that a gateway had a part in; its refusal keeps status and body (contract 4.4). */
export type Answer<T> = { kind: "done"; body: T } | { kind: "refused"; status: number; body: unknown };

/** A reply that is no good one, as an answer. Throws `unavailable` when the gateway could not be reached. */
export function refusalOf<E extends Endpoint>(
  reply: Exclude<Reply<E>, { kind: "ok" }>,
): Extract<Answer<never>, { kind: "refused" }> {
  if (reply.kind === "unreachable") throw new ServiceError("unavailable", `its gateway: ${reply.detail}`);
  return { kind: "refused", status: reply.status, body: reply.body };
}
