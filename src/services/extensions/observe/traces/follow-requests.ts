import type { NotifierStore } from "../../../../db/gateway/notifier-store.ts";
import type { RequestStore } from "../../../../db/gateway/request-store.ts";
import type { GatewayEvent } from "../../../../protocol/events.ts";
import { type Clock, parseTimestamp } from "../../../../system/clock.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Network } from "../../../../system/network.ts";
import type { StoredEventLog } from "../../../diagnostics/event-log.ts";
import type { Log } from "../../../diagnostics/gateway-log.ts";
import type { OtlpSettings } from "../../../sessions/otlp-settings.ts";
import type { SpanCounts } from "../gateway-metrics.ts";
import { createOtlpEncoding, type TracedAgent } from "./otlp-encoding.ts";
import { type NotedWait, toRequestSpans, toTurnSpan } from "./request-trace.ts";
import { createSpanExporter } from "./span-exporter.ts";

export interface TraceSources {
  clock: Clock;
  network: Pick<Network, "fetch">;
  log: Log;
  events: Pick<StoredEventLog, "readEvents" | "subscribe">;
  requests: Pick<RequestStore, "get">;
  notifier: Pick<NotifierStore, "mailOfWake">;
  agent: TracedAgent;
}

/** Events are only the signal: spans are read from the stored request, which a restart does not change. */
export interface FollowedTraces {
  stop(): Promise<void>;
  counts(): SpanCounts;
}

const pageSize = 1000;
/**
 * Requests whose reasons to wait are kept, and turns that are known as exported. Of more, the oldest are
 * forgotten.
 */
const maxNoted = 1000;
const maxWaits = 32;
type LoggedEvent = GatewayEvent & Record<string, unknown>;

/** Begins with the events after `afterSeq`. */
export function followRequests(deps: TraceSources, settings: OtlpSettings, afterSeq: number): FollowedTraces {
  const { events, requests, notifier, log } = deps;
  const encoding = createOtlpEncoding(settings.protocol, deps.agent, settings.resource);
  const exporter = createSpanExporter({ ...deps, settings, encoding });
  const waits = new Map<string, NotedWait[]>();
  const turns = new Map<string, true>();

  function take(event: LoggedEvent): void {
    if (event.kind === "request_waiting") noteWait(event);
    else if (event.kind === "request_evidence" && event["step"] === "turn_ended") exportTurn(idOf(event));
    else for (const id of endedBy(event)) exportRequest(id);
  }

  function noteWait(event: LoggedEvent): void {
    const { request_id: id, reason, since_utc: since } = event;
    const atMs = typeof since === "string" ? parseTimestamp(since) : null;
    if (typeof id !== "string" || typeof reason !== "string" || atMs === null) return;
    const before = waits.get(id) ?? [];
    if (before.length < maxWaits) note(waits, id, [...before, { reason, atMs }]);
  }

  function exportRequest(requestId: string): void {
    const request = requests.get(requestId);
    if (request === null) return;
    const mail = request.kind === "mail_notifier_prompt" ? notifier.mailOfWake(requestId) : [];
    const spans = toRequestSpans(request, { waits: waits.get(requestId) ?? [], mail });
    waits.delete(requestId);
    exporter.add(spans.filter(({ name }) => name !== "turn" || isFirst(requestId)));
  }

  /** A turn on a terminal goes on after its request has ended; one that has not is exported with it. */
  function exportTurn(requestId: string): void {
    const request = requests.get(requestId);
    const span = request && request.finishedAtUtc !== null ? toTurnSpan(request) : null;
    if (span && isFirst(requestId)) exporter.add([span]);
  }

  function isFirst(requestId: string): boolean {
    if (turns.has(requestId)) return false;
    note(turns, requestId, true);
    return true;
  }

  /** What cannot be read costs its trace only. */
  function takeSafely(event: LoggedEvent): void {
    try {
      take(event);
    } catch (error) {
      log.line("trace not made", { seq: event.seq, error: messageOf(error) });
    }
  }

  let at = afterSeq;
  for (;;) {
    const page = events.readEvents({ afterSeq: at, limit: pageSize }).events;
    if (page.length === 0) break;
    for (const event of page) takeSafely(event);
    at = page.at(-1)?.seq ?? at;
  }
  const close = events.subscribe(takeSafely);
  exporter.start();

  return {
    async stop() {
      close();
      await exporter.stop();
    },
    counts: exporter.counts,
  };
}

const idOf = (event: LoggedEvent) => String(event["request_id"]);

/** The requests that end with this event. Pure. */
function endedBy(event: LoggedEvent): string[] {
  switch (event.kind) {
    case "completed":
    case "failed":
      return [idOf(event)];
    case "coalesced":
      return idsOf(event["coalesced_request_ids"]);
    case "reconciled":
      return idsOf(event["failed_request_ids"]);
    default:
      return [];
  }
}

const idsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

function note<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > maxNoted && oldest !== undefined) kept.delete(oldest);
}
