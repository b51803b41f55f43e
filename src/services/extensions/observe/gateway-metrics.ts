import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type EventKind, eventKinds, type GatewayEvent } from "../../../protocol/events.ts";
import type { GatewayStatus } from "../../../protocol/gateway.ts";
import { TokenUsage } from "../../../protocol/usage.ts";
import { afterThisTurn, type Clock, parseTimestamp } from "../../../system/clock.ts";
import type { StoredEventLog } from "../../diagnostics/event-log.ts";

/**
 * The counters of one gateway in the Prometheus text format. They are made of its event log, from the start
 * of the process on, so that a gateway that nobody scrapes counts nothing. No label holds what an agent, a
 * person or a caller wrote, but for the name of a model. Loaded with the first scrape. Source: decisions 78
 * and 82.
 */
export interface GatewayMetrics {
  /** Counts one answer, from the first scrape on. Never throws. */
  answered(answer: { method: string; route: string; status: number; seconds: number }): void;
  /** A reader of the event stream is given this event. Never throws. */
  streamed(event: GatewayEvent): void;
  scrape(facts: GatewayFacts): Promise<{ text: string; contentType: string }>;
  close(): void;
}

/** Spans since the process began, and those that wait now. */
export interface SpanCounts {
  exported: number;
  /** The queue was full, or the gateway ended before a collector took them. */
  dropped: number;
  /** The collector took the request and not these of it, or refuses such requests for good. */
  rejected: number;
  queued: number;
}

/** What is true at the moment of a scrape. */
export interface GatewayFacts {
  status: GatewayStatus;
  version: string;
  tool: string;
  startedMs: number;
  spans: SpanCounts | null;
}

/** A prompt waits for a turn, and a turn takes seconds to hours. */
const turnBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400];
const answerBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Requests under way, and turns whose count may still change. Of more, the oldest are not timed. */
const maxOpen = 10_000;
const pageSize = 1000;
/** The fields of its kind may be of another version. */
type LoggedEvent = GatewayEvent & Record<string, unknown>;
const Usage = Type.Array(TokenUsage);
const tokenFields = ["input", "cached_input", "cache_write", "output", "reasoning"] as const;

/** Resolves when the events since `afterSeq` are counted. */
export async function createGatewayMetrics(deps: {
  events: Pick<StoredEventLog, "readEvents" | "subscribe">;
  afterSeq: number;
  clock: Clock;
}): Promise<GatewayMetrics> {
  const { events, clock } = deps;
  const kept = new Registry();
  const registers = [kept];
  const take = countEvents(kept);
  let at = deps.afterSeq;
  for (;;) {
    const page = events.readEvents({ afterSeq: at, limit: pageSize }).events;
    if (page.length === 0) break;
    for (const event of page) take(event);
    at = page.at(-1)?.seq ?? at;
    await new Promise<void>(afterThisTurn);
  }
  const close = events.subscribe(take);

  const answers = new Histogram({
    name: "svc_http_request_seconds",
    help: "Time until an answer began, by method, route and status",
    labelNames: ["method", "route", "status"],
    buckets: answerBuckets,
    registers,
  });
  const lag = new Histogram({
    name: "svc_event_lag_seconds",
    help: "Time from an event until a reader of the stream is given it; a reader that resumes is given old ones",
    buckets: answerBuckets,
    registers,
  });
  return {
    answered({ method, route, status, seconds }) {
      answers.observe({ method, route, status: String(status) }, Math.max(0, seconds));
    },
    streamed({ at_utc }) {
      lag.observe(secondsBetween(parseTimestamp(at_utc), clock.nowMs()));
    },
    async scrape(facts) {
      const text = await Registry.merge([toRegistry(facts), kept]).metrics();
      return { text, contentType: kept.contentType };
    },
    close,
  };
}

/** Returns what counts one event. It never throws: an event of another version counts by its kind at most. */
function countEvents(kept: Registry): (event: LoggedEvent) => void {
  const registers = [kept];
  const all = new Counter({
    name: "svc_events_total",
    help: "Events in the log, by kind",
    labelNames: ["kind"],
    registers,
  });
  const requests = new Counter({
    name: "svc_requests_total",
    help: "Requests that were accepted and that ended, by kind",
    labelNames: ["kind", "result"],
    registers,
  });
  const waited = new Histogram({
    name: "svc_request_wait_seconds",
    help: "Time of a request in the queue, from its acceptance until it began",
    labelNames: ["kind"],
    buckets: turnBuckets,
    registers,
  });
  const delivered = new Histogram({
    name: "svc_prompt_delivery_seconds",
    help: "Time from the start of a prompt until it was seen to be submitted",
    buckets: turnBuckets,
    registers,
  });
  const ran = new Histogram({
    name: "svc_request_run_seconds",
    help: "Time from the start of a request until it ended",
    labelNames: ["kind", "result"],
    buckets: turnBuckets,
    registers,
  });
  const tokens = countTokens(kept);
  const accepted = new Map<string, number>();
  const began = new Map<string, number>();

  const take = (event: LoggedEvent) => {
    const { kind } = event;
    all.inc({ kind: kind in eventKinds ? kind : "other" });
    const atMs = parseTimestamp(event.at_utc);
    const id = text(event["request_id"]);
    const of = { kind: text(event["request_kind"]) };
    switch (kind as EventKind) {
      case "accepted":
      case "accepted_internal":
        requests.inc({ ...of, result: "accepted" });
        note(accepted, id, parseTimestamp(text(event["accepted_at_utc"])));
        break;
      case "executing":
        if (accepted.has(id)) waited.observe(of, secondsBetween(taken(accepted, id), atMs));
        note(began, id, atMs);
        break;
      case "request_evidence":
        if (event["step"] === "submitted" && began.has(id))
          delivered.observe(secondsBetween(began.get(id), atMs));
        break;
      case "completed":
      case "failed":
        accepted.delete(id);
        requests.inc({ ...of, result: kind });
        if (began.has(id)) ran.observe({ ...of, result: kind }, secondsBetween(taken(began, id), atMs));
        break;
      case "turn_usage":
        tokens(event);
        break;
    }
  };
  return take;
}

/** A later count of the same turn takes the place of the one before. */
function countTokens(kept: Registry): (event: LoggedEvent) => void {
  const counter = new Counter({
    name: "svc_tokens_total",
    help: "Tokens of turns that ended, as the tool counts them; cached_input and cache_write are part of input, reasoning of output",
    labelNames: ["model", "tokens"],
    registers: [kept],
  });
  const counted = new Map<string, number>();
  return (event) => {
    const usage = event["usage"];
    if (!Value.Check(Usage, usage)) return;
    for (const one of usage) {
      for (const field of tokenFields) {
        const key = JSON.stringify([event["turn_id"], one.model, field]);
        const more = one[`${field}_tokens`] - (counted.get(key) ?? 0);
        if (more <= 0) continue;
        counter.inc({ model: one.model ?? "", tokens: field }, more);
        note(counted, key, one[`${field}_tokens`]);
      }
    }
  };
}

/** Made again for each scrape. Pure. */
function toRegistry({ status, version, tool, startedMs, spans }: GatewayFacts): Registry {
  const registry = new Registry();
  const gauge = (name: string, help: string, labels: Record<string, string>, value: number) =>
    new Gauge({ name, help, labelNames: Object.keys(labels), registers: [registry] }).set(labels, value);
  gauge("svc_build_info", "1", { version, tool, backend: status.backend }, 1);
  gauge("svc_start_time_seconds", "When the gateway began", {}, startedMs / 1000);
  gauge("svc_queue_depth", "Requests accepted or running", {}, status.queue_depth);
  gauge("svc_instance_epoch", "Grows with each new instance", {}, status.managed_agent_instance_epoch);
  gauge(
    "svc_state",
    "1: what the status says",
    {
      connectivity: status.managed_agent_connectivity,
      admission: status.request_admission,
      execution: status.active_execution,
    },
    1,
  );
  if (status.waiting) gauge("svc_waiting", "1: why the queue waits", { reason: status.waiting.reason }, 1);
  if (status.awaiting_decision) gauge("svc_awaiting_decision", "1: a question waits for a person", {}, 1);
  if (spans !== null) countSpans(registry, spans);
  return registry;
}

function countSpans(registry: Registry, { queued, ...results }: SpanCounts): void {
  const registers = [registry];
  new Gauge({ name: "svc_trace_spans_queued", help: "Spans that wait for the collector", registers }).set(
    queued,
  );
  const counter = new Counter({
    name: "svc_trace_spans_total",
    help: "Spans of traces that a collector took, that were dropped without one, and that it refused",
    labelNames: ["result"],
    registers,
  });
  for (const [result, count] of Object.entries(results)) counter.inc({ result }, count);
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** Clocks may be set back. Pure. */
function secondsBetween(startMs: number | null | undefined, endMs: number | null): number {
  return startMs == null || endMs === null ? 0 : Math.max(0, (endMs - startMs) / 1000);
}

function note(times: Map<string, number>, key: string, value: number | null): void {
  if (key === "" || value === null) return;
  times.delete(key);
  times.set(key, value);
  const [oldest] = times.keys();
  if (times.size > maxOpen && oldest !== undefined) times.delete(oldest);
}

function taken(times: Map<string, number>, key: string): number | undefined {
  const value = times.get(key);
  times.delete(key);
  return value;
}
