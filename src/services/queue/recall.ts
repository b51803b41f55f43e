import type { RecalledRequest, RequestStore, Transition } from "../../db/gateway/request-store.ts";
import type { GatewayEvent } from "../../protocol/events.ts";
import type { RequestState, StoredRequestKind } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { StoredEventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";

/** What the history tells of one request. */
interface Told {
  requestId: string;
  kind: StoredRequestKind;
  acceptedAtUtc: string;
  state: RequestState;
  errorDetail?: string;
  result?: Record<string, unknown>;
}

export interface Recall {
  /** The database does not know them: rows that end them. */
  lost: RecalledRequest[];
  /** It has them as they were before they began or ended: their ends, so that nothing is done twice. */
  begun: Transition[];
}

const lostDetail =
  "accepted, and then lost with the file queue.sqlite; whether the agent took it is unknown, and its text is not kept";
const begunDetail =
  "begun, and then put back by a loss in the file queue.sqlite; whether the agent took it is unknown";

/**
 * Compares the history with the database. An event is written after its commit, so of what the history tells and the
 * database does not know, the database has lost a part: it was damaged, cut short, removed or is an older copy. What
 * has ended there gets its end, what has not ends as unknown. `stateOf`: what the database has, null for nothing.
 * Pure. Source: ruling 7.
 */
export function planRecall(
  history: Iterable<GatewayEvent>,
  stateOf: (requestId: string) => RequestState | null,
  at: { epoch: number; nowUtc: string },
): Recall {
  const recall: Recall = { lost: [], begun: [] };
  for (const told of readHistory(history)) {
    const stored = stateOf(told.requestId);
    const ended = told.state === "completed" || told.state === "failed" || told.state === "coalesced";
    const end = {
      finishedAtUtc: at.nowUtc,
      ...(told.errorDetail === undefined ? {} : { errorDetail: told.errorDetail }),
      ...(told.result === undefined ? {} : { result: told.result }),
    };
    const unknown = { finishedAtUtc: at.nowUtc, result: { outcome: "unknown", seen: [] } };
    if (stored === null) {
      const { requestId, kind, acceptedAtUtc } = told;
      const last = ended
        ? { state: told.state, ...end }
        : { state: "failed" as const, errorDetail: lostDetail, ...unknown };
      recall.lost.push({ requestId, kind, acceptedAtUtc, epoch: at.epoch, ...last });
    } else if (progress[stored] < progress[told.state]) {
      const change = { requestId: told.requestId, from: stored };
      recall.begun.push(
        ended
          ? { ...change, to: told.state, ...end }
          : { ...change, to: "failed", errorDetail: begunDetail, ...unknown },
      );
    }
  }
  return recall;
}

const progress: Readonly<Record<RequestState, number>> = {
  ...{ accepted: 0, running: 1 },
  ...{ completed: 2, failed: 2, coalesced: 2 },
};

const stateAfter: Readonly<Record<string, RequestState>> = {
  accepted: "accepted",
  accepted_internal: "accepted",
  executing: "running",
  completed: "completed",
  failed: "failed",
};

function readHistory(history: Iterable<GatewayEvent>): Told[] {
  const known = new Map<string, Told>();
  for (const event of history) {
    const fields: Record<string, unknown> = event;
    const { kind, request_id: id, request_kind: requestKind } = fields;
    if (kind === "coalesced" || kind === "reconciled") {
      const ids = fields[kind === "coalesced" ? "coalesced_request_ids" : "failed_request_ids"];
      for (const one of Array.isArray(ids) ? ids : []) {
        const told = known.get(String(one));
        if (told) told.state = kind === "coalesced" ? "coalesced" : "failed";
      }
      continue;
    }
    const state = stateAfter[String(kind)];
    if (state === undefined || typeof id !== "string" || typeof requestKind !== "string") continue;
    const { error_detail, result_json } = fields;
    known.set(id, {
      requestId: id,
      kind: requestKind as StoredRequestKind,
      acceptedAtUtc: known.get(id)?.acceptedAtUtc ?? event.at_utc,
      state,
      ...(typeof error_detail === "string" ? { errorDetail: error_detail } : {}),
      ...(result_json ? { result: result_json as Record<string, unknown> } : {}),
    });
  }
  return [...known.values()];
}

/** So many of the newest events are always compared; when they disagree, all that are kept. */
const glance = 200;
const maxTold = 100;

/**
 * Before a queue begins: puts back what the database lost since it was written, as far as the history knows it, and
 * says so. Without a loss it costs a look at the newest events, and one past all those that speak of no request.
 */
export function recallLost(deps: {
  events: StoredEventLog;
  store: RequestStore;
  clock: Clock;
  log: Log;
}): void {
  const { events, store } = deps;
  const at = { epoch: store.instance()?.epoch ?? 0, nowUtc: timestampNow(deps.clock) };
  const compare = (history: Iterable<GatewayEvent>) =>
    planRecall(history, (id) => store.get(id)?.state ?? null, at);
  const newest = compare(newestOfRequests(events));
  if (newest.lost.length + newest.begun.length === 0) return;
  const { lost, begun } = compare(events.readEvents({ afterSeq: 0, limit: Number.MAX_SAFE_INTEGER }).events);
  store.recall("sql:requests-recalled", lost, begun);
  const ids = [...lost, ...begun].map((one) => one.requestId);
  events.append("requests_recalled", { count: ids.length, request_ids: ids.slice(-maxTold) });
  deps.log.line("queue.sqlite had lost requests that were accepted; they are recalled from the history", {
    lost: lost.length,
    begun: begun.length,
    error: "a part of queue.sqlite was lost",
  });
}

/**
 * The newest events, oldest first; when none of them tells the state of a request, before them the last that does,
 * however far back: a file loses the newest of what it held, so one that knows this has lost nothing.
 */
function newestOfRequests(events: StoredEventLog): GatewayEvent[] {
  const { lastSeq } = events.readEvents({ afterSeq: 0, limit: 0 });
  const afterSeq = Math.max(0, lastSeq - glance);
  const newest = events.readEvents({ afterSeq, limit: Number.MAX_SAFE_INTEGER }).events;
  if (readHistory(newest).length > 0) return newest;
  for (const event of events.storedWith('"request_kind"')) {
    if (readHistory([event]).length > 0) return [event, ...newest];
  }
  return newest;
}
