import type { InsertGuard, NewRequest, RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import { afterThisTurn, type Clock, createTimestamps } from "../../system/clock.ts";
import { type Ids, idStamp } from "../../system/ids.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";

/**
 * Stores requests and records each in the event log as soon as it is on disk, so that no other event of a
 * request precedes its acceptance. The log line and `onAccepted` serve all requests of one turn of the event
 * loop: with 64 clients a line for each costs 29 % of the rate.
 */
export function createAcceptance(deps: {
  store: RequestStore;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  epoch: () => number;
  onAccepted: () => void;
}) {
  const { store, events, log } = deps;
  const timestamp = createTimestamps(deps.clock);
  const newRequestId = createRequestIds(deps);
  let unlogged: { request_id: string; kind: StoredRequest["kind"] }[] = [];

  function logAccepted(): void {
    const [first, ...others] = unlogged;
    unlogged = [];
    log.line("accepted request", { ...first, and_others: others.length || null });
    deps.onAccepted();
  }

  return {
    /**
     * Stores a request. Resolves when its row is on disk; rejects, and stores nothing, when `guard` throws.
     */
    async take(
      request: Pick<NewRequest, "kind" | "lane" | "payload" | "idempotencyKey">,
      guard?: InsertGuard,
    ): Promise<{ request_id: string; accepted_at_utc: string; epoch: number }> {
      const accepted_at_utc = timestamp();
      const request_id = newRequestId();
      const epoch = deps.epoch();
      const row = {
        ...request,
        requestId: request_id,
        acceptedAtUtc: accepted_at_utc,
        epoch,
      };
      await store.insertAccepted(row, guard);
      const { kind } = request;
      const event = kind === "mail_notifier_prompt" ? "accepted_internal" : "accepted";
      events.append(event, { request_id, request_kind: kind, accepted_at_utc });
      if (unlogged.push({ request_id, kind }) === 1) afterThisTurn(logAccepted);
      return { request_id, accepted_at_utc, epoch };
    },
  };
}

/**
 * Creates request ids `gwreq-YYYYMMDD-HHMMSSZ-<8 hex>`. Within a second they count up from a random start:
 * among ten thousand random ids some would collide, and each would touch another page of the index.
 */
export function createRequestIds(deps: { clock: Clock; ids: Ids }): () => string {
  let second = Number.NaN;
  let stamp = "";
  let count = 0;
  return () => {
    const nowMs = deps.clock.nowMs();
    const thisSecond = Math.floor(nowMs / 1000);
    if (thisSecond !== second) {
      second = thisSecond;
      stamp = idStamp(nowMs);
      // Starts in the lower half of the range, so that the count does not overflow.
      count = Number.parseInt(deps.ids.hex(4), 16) >>> 1;
    }
    return `gwreq-${stamp}-${(count++).toString(16).padStart(8, "0")}`;
  };
}
