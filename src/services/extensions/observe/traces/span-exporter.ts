import type { Clock } from "../../../../system/clock.ts";
import { createLoop, type Lifecycle } from "../../../../system/lifecycle.ts";
import type { Network } from "../../../../system/network.ts";
import { isLoopbackHost } from "../../../../system/network.ts";
import type { Log } from "../../../diagnostics/gateway-log.ts";
import type { OtlpSettings } from "../../../sessions/otlp-settings.ts";
import type { SpanCounts } from "../gateway-metrics.ts";
import type { OtlpEncoding } from "./otlp-encoding.ts";
import type { TraceSpan } from "./request-trace.ts";

/**
 * Sends spans to a collector, some at a time. The queue is bounded: when it is full the oldest go, so a
 * collector that is gone costs its spans and nothing else. `stop` tries once more, for a second at most.
 */
interface SpanExporter extends Lifecycle {
  /** Never waits and never throws. */
  add(spans: readonly TraceSpan[]): void;
  counts(): SpanCounts;
}

const maxQueued = 2048;
const maxBatch = 512;
/** Spans of this time are sent together. */
const gatherMs = 1000;
const firstRetryMs = 1000;
const maxRetryMs = 60_000;
const lastSendMs = 1000;
const maxAnswerBytes = 64 * 1024;
/** Answers after which the specification of OTLP asks to try again. */
const retried = new Set(["429", "502", "503", "504"]);

export type Sent =
  | { sent: "taken"; rejected: number }
  | { sent: "refused"; why: string }
  /** `cut`: the exporter itself ended the request, which says nothing of the collector. */
  | { sent: "later"; why: string; askedMs: number | null; cut: boolean };

/**
 * ```
 *   nothing due ──queued──> due ──sent──> nothing due, or due at once for what is queued
 *                            ^     └────> due later, when the collector did not take them
 *                            └──────────────┘
 * ```
 */
export interface ExportState {
  /** When the next request may go, on the monotonic clock; null: nothing waits. */
  dueAtMs: number | null;
  /** The pause after the next request that fails. */
  retryMs: number;
  /** Why spans are not taken, as it was logged; empty while they are. */
  problem: string;
}

export type ExportEvent =
  | { kind: "queued"; nowMs: number }
  /** `isMore`: further spans are queued. */
  | { kind: "sent"; nowMs: number; result: Sent; isMore: boolean }
  | { kind: "ended" };

export const initialState: ExportState = { dueAtMs: null, retryMs: firstRetryMs, problem: "" };

/** Pure. */
export function next(state: ExportState, event: ExportEvent): ExportState {
  switch (event.kind) {
    case "queued":
      return state.dueAtMs === null ? { ...state, dueAtMs: event.nowMs + gatherMs } : state;
    case "sent": {
      const { nowMs, result, isMore } = event;
      if (result.sent === "later") {
        return {
          dueAtMs: nowMs + Math.max(state.retryMs, result.askedMs ?? 0),
          retryMs: Math.min(state.retryMs * 2, maxRetryMs),
          problem: result.cut ? state.problem : result.why,
        };
      }
      return {
        dueAtMs: isMore ? nowMs : null,
        retryMs: firstRetryMs,
        problem: result.sent === "taken" ? "" : result.why,
      };
    }
    case "ended":
      return { ...state, dueAtMs: null };
  }
}

export function createSpanExporter(deps: {
  clock: Clock;
  network: Pick<Network, "fetch">;
  log: Log;
  settings: Pick<OtlpSettings, "url" | "headers" | "timeoutMs">;
  encoding: OtlpEncoding;
}): SpanExporter {
  const { clock, log, settings } = deps;
  const send = createSend(deps);
  let queue: TraceSpan[] = [];
  /** They are a request under way. */
  let sending: readonly TraceSpan[] = [];
  const counts = { exported: 0, dropped: 0, rejected: 0 };
  let state = initialState;

  /** One line for each change of the problem: a collector may be gone for days. */
  function apply(event: ExportEvent): void {
    const { problem } = state;
    state = next(state, event);
    if (state.problem === problem) return;
    if (state.problem === "") log.line("traces are exported again");
    else log.line("traces not exported", { error: state.problem });
  }

  function add(spans: readonly TraceSpan[]): void {
    if (spans.length === 0) return;
    queue.push(...spans);
    bound();
    const wasDue = state.dueAtMs !== null;
    apply({ kind: "queued", nowMs: clock.monotonicMs() });
    if (!wasDue) loop.wake();
  }

  function bound(): void {
    const over = queue.length - maxQueued;
    if (over <= 0) return;
    queue = queue.slice(over);
    counts.dropped += over;
  }

  async function sendSome(limitMs: number, signal?: AbortSignal): Promise<Sent["sent"]> {
    sending = queue.slice(0, maxBatch);
    queue = queue.slice(sending.length);
    const result = await send(sending, limitMs, signal);
    settle(result);
    sending = [];
    return result.sent;
  }

  function settle(result: Sent): void {
    if (result.sent === "later") {
      queue = [...sending, ...queue];
      bound();
    } else {
      const count = sending.length;
      const rejected = result.sent === "refused" ? count : Math.min(count, result.rejected);
      counts.rejected += rejected;
      counts.exported += count - rejected;
    }
    apply({ kind: "sent", nowMs: clock.monotonicMs(), result, isMore: queue.length > 0 });
  }

  async function turn(signal: AbortSignal): Promise<number | null> {
    if (state.dueAtMs === null) return null;
    const restMs = state.dueAtMs - clock.monotonicMs();
    if (restMs > 0) return restMs;
    await sendSome(settings.timeoutMs, signal);
    return 0;
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("trace export fault", { error: String(error) }),
  });

  return {
    add,
    counts: () => ({ ...counts, queued: queue.length + sending.length }),
    start: loop.start,
    async stop() {
      await loop.stop();
      const untilMs = clock.monotonicMs() + lastSendMs;
      let result: Sent["sent"] = "taken";
      while (queue.length > 0 && result !== "later" && clock.monotonicMs() < untilMs) {
        result = await sendSome(untilMs - clock.monotonicMs());
      }
      counts.dropped += queue.length;
      queue = [];
      apply({ kind: "ended" });
    },
  };
}

type Send = (spans: readonly TraceSpan[], limitMs: number, signal?: AbortSignal) => Promise<Sent>;

/** One request. Never rejects. A redirect is refused: headers may hold a key. */
function createSend(deps: {
  clock: Clock;
  network: Pick<Network, "fetch">;
  settings: Pick<OtlpSettings, "url" | "headers">;
  encoding: OtlpEncoding;
}): Send {
  const { clock, network, settings, encoding } = deps;
  // A proxy of the environment is for what lies outside this machine.
  const direct = isLoopbackHost(new URL(settings.url).hostname) ? { proxy: false } : {};

  async function exchange(spans: readonly TraceSpan[], signal: AbortSignal): Promise<Sent> {
    const response = await network.fetch(settings.url, {
      method: "POST",
      headers: { ...settings.headers, "content-type": encoding.contentType },
      body: encoding.encode(spans) as BodyInit,
      redirect: "manual",
      signal,
      ...direct,
    } as RequestInit);
    const answer = await readAnswer(response);
    if (response.ok) return { sent: "taken", rejected: rejectedOf(encoding, answer) };
    const why = `the collector answered with status ${response.status}`;
    if (!retried.has(String(response.status))) return { sent: "refused", why };
    const seconds = Number(response.headers.get("retry-after") ?? 0);
    const askedMs = seconds > 0 ? Math.min(seconds * 1000, maxRetryMs) : null;
    return { sent: "later", why, askedMs, cut: false };
  }

  return async (spans, limitMs, signal) => {
    const late = new AbortController();
    const cancel = clock.after(limitMs, () => late.abort());
    try {
      return await exchange(spans, signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } catch (error) {
      // The words of the error may hold the address.
      const code = String((error as { code?: unknown }).code ?? "no reason known").slice(0, 60);
      const why = late.signal.aborted
        ? `no answer within ${Math.ceil(limitMs)} ms`
        : `no connection (${code})`;
      return { sent: "later", why, askedMs: null, cut: signal?.aborted === true };
    } finally {
      cancel();
      late.abort();
    }
  };
}

/** An answer that cannot be read refuses nothing: the spans were taken. */
function rejectedOf(encoding: OtlpEncoding, answer: Uint8Array): number {
  try {
    return encoding.rejected(answer);
  } catch {
    return 0;
  }
}

/** The beginning of an answer; the rest of a long one is left. */
async function readAnswer(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.byteLength;
    if (bytes >= maxAnswerBytes) break;
  }
  return Buffer.concat(parts).subarray(0, maxAnswerBytes);
}
