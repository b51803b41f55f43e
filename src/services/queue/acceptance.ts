import type { InsertGuard, NewRequest, RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import type { AcceptedRequest } from "../../protocol/gateway.ts";
import { afterThisTurn, type Clock, createTimestamps } from "../../system/clock.ts";
import { type Ids, idStamp } from "../../system/ids.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";

/** A request that is on disk and not yet in the event log. */
type UnloggedRequest = Pick<AcceptedRequest, "request_id" | "accepted_at_utc"> & {
  request_kind: StoredRequest["kind"];
};

/** Stores requests at once and logs those of one moment together, right after it. */
type Acceptance = ReturnType<typeof createAcceptance>;

export function createAcceptance(deps: {
  store: RequestStore;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  epoch: () => number;
  /** The accepted requests are in the event log. */
  onLogged: () => void;
}) {
  const { store, events, log } = deps;
  const timestamp = createTimestamps(deps.clock);
  const newRequestId = createRequestIds(deps);
  let unlogged: UnloggedRequest[] = [];

  function logPending(): boolean {
    const accepted = unlogged;
    unlogged = [];
    for (const { request_id, request_kind, accepted_at_utc } of accepted) {
      const kind = request_kind === "mail_notifier_prompt" ? "accepted_internal" : "accepted";
      events.append(kind, { request_id, request_kind, accepted_at_utc });
    }
    const [first] = accepted;
    const others = accepted.length - 1;
    if (first) {
      log.line("accepted request", {
        request_id: first.request_id,
        kind: first.request_kind,
        ...(others > 0 ? { and_others: others } : {}),
      });
    }
    return accepted.length > 0;
  }

  /** The caller gets its answer before the event log is written. */
  function logLater(accepted: UnloggedRequest): void {
    if (unlogged.push(accepted) > 1) return;
    afterThisTurn(() => {
      if (logPending()) deps.onLogged();
    });
  }

  return {
    /** Logs the accepted requests that are not logged yet. False when there is none. */
    logPending,
    /** Resolves when the row is on disk; rejects when `guard` throws, and then stores nothing. */
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
      logLater({ request_id, request_kind: request.kind, accepted_at_utc });
      return { request_id, accepted_at_utc, epoch };
    },
  };
}

/**
 * Request ids `gwreq-YYYYMMDD-HHMMSSZ-<8 hex>`, unique as far as the random start of each second reaches.
 * They count up within a second: random ids would collide now and then among ten thousand, and each would
 * touch another page of the index.
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
      // The upper half of the range stays free to count on.
      count = Number.parseInt(deps.ids.hex(4), 16) >>> 1;
    }
    return `gwreq-${stamp}-${(count++).toString(16).padStart(8, "0")}`;
  };
}

/** Writes the queue's events in order: no event of a request precedes its acceptance and its promotion. */
interface OrderedEvents extends Pick<EventLog, "append"> {
  /** Runs `logPromotion` after this turn of the event loop: the agent gets its text first. */
  promoted(logPromotion: () => void): void;
  /** Writes now what is still pending. */
  flush(): void;
}

export function createOrderedEvents(deps: {
  events: Pick<EventLog, "append">;
  acceptance: Pick<Acceptance, "logPending">;
}): OrderedEvents {
  let pendingPromotion: (() => void) | null = null;

  function flush(): void {
    deps.acceptance.logPending();
    const logPromotion = pendingPromotion;
    pendingPromotion = null;
    logPromotion?.();
  }

  return {
    append(kind, fields) {
      flush();
      deps.events.append(kind, fields);
    },
    promoted(logPromotion) {
      pendingPromotion = logPromotion;
      afterThisTurn(flush);
    },
    flush,
  };
}
