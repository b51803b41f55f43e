import type {
  RecoveredRequest,
  RequestStore,
  StoredRequest,
  Transition,
} from "../../db/gateway/request-store.ts";
import type { GatewayEvent } from "../../protocol/events.ts";
import type { Evidence, RequestState, StoredRequestKind } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Agent } from "../agent/agent.ts";
import type { StoredEventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type End, endUnknown, hasOpenTurn, turnLost } from "./request.ts";

/** One request as the event log records it. */
interface LoggedRequest {
  requestId: string;
  kind: StoredRequestKind;
  acceptedAtUtc: string;
  state: RequestState;
  errorDetail?: string;
  result?: Record<string, unknown>;
}

interface Recovery {
  /** Rows, already ended, for requests that are missing from the database. */
  lost: RecoveredRequest[];
  /** Ends of requests that the database has in an earlier state, so that they are not executed twice. */
  setBack: Transition[];
}

const lostDetail =
  "accepted, and then lost with the file queue.sqlite; whether the agent took it is unknown, and its text is not kept";
const setBackDetail =
  "begun, and then put back by a loss in the file queue.sqlite; whether the agent took it is unknown";

/**
 * Compares the event log with the database. An event is written after its commit. So a request with a later
 * state in the log was lost from the database: the file was damaged, truncated, removed or replaced by an
 * older copy. A request that ended in the log gets that end; any other ends as unknown. `stateOf`: the state
 * in the database, or null. Pure. Source: ruling 7.
 */
export function planRecovery(
  history: Iterable<GatewayEvent>,
  stateOf: (requestId: string) => RequestState | null,
  at: { epoch: number; nowUtc: string },
): Recovery {
  const recovery: Recovery = { lost: [], setBack: [] };
  for (const logged of readHistory(history)) {
    const stored = stateOf(logged.requestId);
    const ended = logged.state === "completed" || logged.state === "failed" || logged.state === "coalesced";
    const end = {
      finishedAtUtc: at.nowUtc,
      ...(logged.errorDetail === undefined ? {} : { errorDetail: logged.errorDetail }),
      ...(logged.result === undefined ? {} : { result: logged.result }),
    };
    const unknown = { finishedAtUtc: at.nowUtc, result: { outcome: "unknown", seen: [] } };
    if (stored === null) {
      const { requestId, kind, acceptedAtUtc } = logged;
      const last = ended
        ? { state: logged.state, ...end }
        : { state: "failed" as const, errorDetail: lostDetail, ...unknown };
      recovery.lost.push({ requestId, kind, acceptedAtUtc, epoch: at.epoch, ...last });
    } else if (progress[stored] < progress[logged.state]) {
      const change = { requestId: logged.requestId, from: stored };
      recovery.setBack.push(
        ended
          ? { ...change, to: logged.state, ...end }
          : { ...change, to: "failed", errorDetail: setBackDetail, ...unknown },
      );
    }
  }
  return recovery;
}

const progress: Readonly<Record<RequestState, number>> = {
  accepted: 0,
  running: 1,
  completed: 2,
  failed: 2,
  coalesced: 2,
};

const stateAfter: Readonly<Record<string, RequestState>> = {
  accepted: "accepted",
  accepted_internal: "accepted",
  executing: "running",
  completed: "completed",
  failed: "failed",
};

function readHistory(history: Iterable<GatewayEvent>): LoggedRequest[] {
  const known = new Map<string, LoggedRequest>();
  for (const event of history) {
    const fields: Record<string, unknown> = event;
    const { kind, request_id: id, request_kind: requestKind } = fields;
    if (kind === "coalesced" || kind === "reconciled") {
      const ids = fields[kind === "coalesced" ? "coalesced_request_ids" : "failed_request_ids"];
      for (const one of Array.isArray(ids) ? ids : []) {
        const logged = known.get(String(one));
        if (logged) logged.state = kind === "coalesced" ? "coalesced" : "failed";
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

/** Newest events that each start compares. When they disagree with the database, all events are compared. */
const comparedEvents = 200;
const maxListedIds = 100;

/**
 * Restores lost requests from the event log and reports them. Runs before the queue starts. Without a loss it
 * reads only the newest events and the last one that names a request.
 */
export function recoverFromEventLog(deps: {
  events: StoredEventLog;
  store: RequestStore;
  clock: Clock;
  log: Log;
}): void {
  const { events, store } = deps;
  const at = { epoch: store.instance()?.epoch ?? 0, nowUtc: timestampNow(deps.clock) };
  const compare = (history: Iterable<GatewayEvent>) =>
    planRecovery(history, (id) => store.get(id)?.state ?? null, at);
  const newest = compare(newestOfRequests(events));
  if (newest.lost.length + newest.setBack.length === 0) return;
  const { lost, setBack } = compare(
    events.readEvents({ afterSeq: 0, limit: Number.MAX_SAFE_INTEGER }).events,
  );
  store.recover("sql:requests-recalled", lost, setBack);
  const ids = [...lost, ...setBack].map((one) => one.requestId);
  events.append("requests_recalled", { count: ids.length, request_ids: ids.slice(-maxListedIds) });
  deps.log.line("queue.sqlite had lost requests that were accepted; they are restored from the event log", {
    lost: lost.length,
    set_back: setBack.length,
    error: "a part of queue.sqlite was lost",
  });
}

/**
 * The newest events, oldest first. When none of them has the state of a request, the last event with one
 * comes first. A damaged file loses its newest rows first, so a database that has the request of this event
 * has lost nothing.
 */
function newestOfRequests(events: StoredEventLog): GatewayEvent[] {
  const { lastSeq } = events.readEvents({ afterSeq: 0, limit: 0 });
  const afterSeq = Math.max(0, lastSeq - comparedEvents);
  const newest = events.readEvents({ afterSeq, limit: Number.MAX_SAFE_INTEGER }).events;
  if (readHistory(newest).length > 0) return newest;
  for (const event of events.storedWith('"request_kind"')) {
    if (readHistory([event]).length > 0) return [event, ...newest];
  }
  return newest;
}

/** The requests that an earlier process of this gateway left unfinished. */
export function createUnfinishedWork(deps: {
  store: Pick<RequestStore, "list">;
  agent: Pick<Agent, "terminal">;
  clock: Clock;
  epoch: () => number;
  addEvidence: (requestId: string, evidence: Evidence) => void;
}) {
  const { store, agent, addEvidence } = deps;
  return {
    /**
     * The end of the prompt that the dead process was typing. Its text is cleared from the composer when it
     * is there, and never typed again.
     */
    async settle(request: StoredRequest): Promise<End> {
      const { prompt } = request.payload;
      const sameInstance = request.epoch === deps.epoch();
      const proof =
        typeof prompt === "string" && sameInstance
          ? ((await agent.terminal?.withdraw(prompt)) ?? "no turn was begun for it")
          : "nothing was looked for";
      return endUnknown(request, { step: "settled", at_utc: timestampNow(deps.clock), proof });
    },
    /** Follows the turn of the newest delivered prompt, which may outlive the process that delivered it. */
    followLast(): void {
      const last = store.list({ limit: 8, state: "completed" }).find((one) => one.kind !== "interrupt");
      const steps = last?.evidence.map((one) => one.step) ?? [];
      if (!last || !hasOpenTurn(last)) return;
      if (last.epoch !== deps.epoch()) {
        const how = "its program was started again";
        addEvidence(last.requestId, turnLost({ how, atUtc: timestampNow(deps.clock) }));
        return;
      }
      if (!steps.includes("submitted")) return;
      agent.terminal?.followTurn({
        started: steps.includes("turn_started"),
        onEvidence: (evidence) => addEvidence(last.requestId, evidence),
      });
    },
  };
}
