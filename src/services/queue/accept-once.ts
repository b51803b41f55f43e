import type { InsertGuard, NewRequest, RequestStore } from "../../db/gateway/request-store.ts";
import type { AcceptedRequest, GatewayRequest } from "../../protocol/gateway.ts";
import { ServiceError } from "../../system/errors.ts";
import { toAccepted, toRow } from "./request.ts";

/** A request with this key is stored. */
class KeyKnown extends Error {}

/** The content of the database at an insert. */
export interface IdleFacts {
  /** Requests accepted or running. */
  depth: number;
  /** A request asked for the same turn before. */
  turnKnown: boolean;
}

export type RowToAccept = Pick<NewRequest, "kind" | "lane" | "payload" | "idempotencyKey">;

type Take = (
  request: RowToAccept,
  guard: InsertGuard,
) => Promise<{ request_id: string; accepted_at_utc: string; epoch: number }>;

export type AcceptOnce = ReturnType<typeof createAcceptOnce>;

/** Accepts a request with its caller's key once, also when it is sent again. `depth`: of the queue now. */
export function createAcceptOnce(deps: { store: RequestStore; take: Take; depth: () => number }) {
  const { store, take, depth } = deps;

  function firstAnswer(key: string, request: GatewayRequest): AcceptedRequest | null {
    const stored = store.byKey(key);
    if (!stored) return null;
    const row = toRow(request);
    if (row.kind !== stored.kind || JSON.stringify(row.payload) !== JSON.stringify(stored.payload)) {
      throw new ServiceError("conflict", "this idempotency key was used for another request");
    }
    const { requestId: request_id, acceptedAtUtc: accepted_at_utc, epoch } = stored;
    return toAccepted(request, { request_id, accepted_at_utc, epoch }, depth());
  }

  return {
    /**
     * The answer to the request that was accepted with this key; null for none. `conflict` when that was
     * another request.
     */
    firstAnswer,
    /** Of two callers with one key at the same moment the insert decides. */
    async accept(request: GatewayRequest, key: string): Promise<AcceptedRequest> {
      let first: AcceptedRequest | null = null;
      try {
        const taken = await take({ ...toRow(request), idempotencyKey: key }, () => {
          first = firstAnswer(key, request);
          if (first) throw new KeyKnown();
        });
        return toAccepted(request, taken, depth());
      } catch (error) {
        if (error instanceof KeyKnown && first) return first;
        throw error;
      }
    },
  };
}
