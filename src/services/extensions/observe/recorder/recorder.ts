import type { GatewayEvent } from "../../../../protocol/events.ts";
import type { RecordedDecision, RecordedQueue, RecordedTerminal } from "../../../../protocol/recorder.ts";
import { afterThisTurn, type Clock, sleep, withinTime } from "../../../../system/clock.ts";
import type { Files } from "../../../../system/files.ts";
import { createLoop, type Lifecycle } from "../../../../system/lifecycle.ts";
import { faultLine } from "../../../../system/storage-fault.ts";
import type { PaneFrame } from "../../../terminal/tmux/pane-stream.ts";
import { type Batch, createEncoder, type Item } from "./encoder.ts";
import { createPendingItems } from "./pending-items.ts";
import { nothingKnown } from "./records.ts";
import { createSegmentWriter } from "./segment-writer.ts";
import type { RecorderLimits } from "./segments.ts";

/** What a recorder hears. Each returns how to stop listening. */
export interface RecorderSources {
  events(listener: (event: GatewayEvent) => void): () => void;
  /** Called at once with the present state, where one is known, and with each one that differs. */
  terminal(listener: (terminal: RecordedTerminal) => void): () => void;
  decisions(listener: (decision: RecordedDecision) => void): () => void;
  /** The terminal, live; null for an agent without one. */
  pane: ((signal: AbortSignal) => AsyncGenerator<PaneFrame>) | null;
  /** What waits and runs at the start. */
  queue(): RecordedQueue;
}

/**
 * Records until it is stopped. Its sources never wait for it: what the disk does not take in time is a gap.
 */
export interface Recorder extends Lifecycle {
  facts(): { segments: number; bytes: number; fromMs: number | null; problem: string | null };
}

export interface RecorderDeps {
  files: Files;
  clock: Clock;
  /** Of the session. */
  gatewayRoot: string;
  title: string;
  limits: RecorderLimits;
  sources: RecorderSources;
  onProblem: (problem: string) => void;
  /** Bytes on the disk that are left to others. */
  reserveBytes?: number;
}

/** Between two writes: what came in this time is lost when the process is killed. */
const batchMs = 250;
/** What the terminal wrote last is held back so long, as far as it may be the begin of a secret. */
const holdMs = 1000;
/** After so long without a record one is written, so that a reader knows that nothing happened. */
export const aliveMs = 60_000;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;
const paneAgainMs = 2_000;
const stopMs = 2_000;

/**
 * Whether the disk takes the recording:
 *
 * ```
 *   good ──failed──> failing ──failed──> failing, which waits twice as long
 *    ^                  └──written──> good
 * ```
 *
 * What comes before `retryAtMs`, monotonic, is a gap.
 */
export type DiskState =
  | { is: "good" }
  | { is: "failing"; reason: string; retryAtMs: number; nextRetryMs: number };

export type DiskEvent = { kind: "failed"; reason: string; nowMs: number } | { kind: "written" };

/** Pure. */
export function nextDisk(disk: DiskState, event: DiskEvent): DiskState {
  if (event.kind === "written") return { is: "good" };
  const retryMs = disk.is === "failing" ? disk.nextRetryMs : firstRetryMs;
  return {
    is: "failing",
    reason: event.reason,
    retryAtMs: event.nowMs + retryMs,
    nextRetryMs: Math.min(retryMs * 2, lastRetryMs),
  };
}

export function createRecorder(deps: RecorderDeps): Recorder {
  const { clock, sources } = deps;
  const segments = createSegmentWriter(deps);
  const pending = createPendingItems(clock);
  let encoder = createEncoder({ title: deps.title, known: nothingKnown });
  let disk: DiskState = { is: "good" };
  /** Of the last item that was written. */
  let writtenMs = 0;
  let repaint = () => {};
  /** Null while it does not run. */
  let hearing: { pane: AbortController; unhook: (() => void)[] } | null = null;

  function add(item: Parameters<typeof pending.add>[0]): void {
    const wasEmpty = pending.count() === 0;
    if (pending.add(item) === "set_back") repaint();
    if (pending.isTooMuch()) skip("the disk did not take the recording in time");
    if (wasEmpty) loop.wake();
  }

  /** Keeps what is known right, and nothing else of what waits. */
  function skip(why: string): void {
    const items = pending.takeAll();
    encoder.skip(items, why);
    encoder.abandon(items[0]?.t ?? pending.lastMs(), why);
    repaint();
  }

  /** Takes what waits now, part by part. */
  async function drain(): Promise<void> {
    let remaining = pending.count();
    do {
      const part = pending.take(remaining);
      remaining -= part.length;
      await drainPart(part);
      if (remaining > 0) await new Promise<void>((resolve) => afterThisTurn(resolve));
      // Items that were dropped meanwhile wait no more.
      remaining = Math.min(remaining, pending.count());
    } while (remaining > 0);
  }

  async function drainPart(items: readonly Item[]): Promise<void> {
    if (disk.is === "failing" && clock.monotonicMs() < disk.retryAtMs) {
      encoder.skip(items, disk.reason);
      return;
    }
    const fromMs = items[0]?.t ?? pending.lastMs();
    const batches = encodeAll(items);
    try {
      for (const batch of batches) {
        if (await segments.write(batch)) repaint();
        writtenMs = Math.max(writtenMs, batch.lastMs);
      }
      if (items.length > 0 && disk.is === "failing") {
        disk = nextDisk(disk, { kind: "written" });
        repaint();
      }
    } catch (error) {
      fail(fromMs, error);
    }
  }

  function encodeAll(items: readonly Item[]): Batch[] {
    const rotate = segments.rotation(hearing !== null && sources.pane !== null);
    const batches = encoder.encode(items, { rotate });
    if (rotate === "now" && items.length > 0) repaint();
    const heldMs = encoder.heldSinceMs();
    // Items that wait may continue the held text.
    const isLast = pending.count() === 0;
    if (isLast && heldMs !== null && clock.nowMs() - heldMs >= holdMs && segments.isOpen()) {
      const cast = encoder.flush();
      const last = batches.at(-1);
      if (last) last.cast += cast;
      else batches.push({ begins: null, records: "", cast, lastMs: pending.lastMs() });
    }
    return batches;
  }

  function fail(fromMs: number, error: unknown): void {
    const reason = faultLine(error);
    if (disk.is === "good" || disk.reason !== reason) deps.onProblem(reason);
    disk = nextDisk(disk, { kind: "failed", reason, nowMs: clock.monotonicMs() });
    void segments.abandon().catch((failed) => deps.onProblem(faultLine(failed)));
    encoder.abandon(fromMs, reason);
  }

  const loop = createLoop({
    clock,
    async turn(signal) {
      if (pending.count() > 0) await sleep(clock, batchMs, signal);
      const nowMs = clock.nowMs();
      const isQuiet = nowMs - writtenMs >= aliveMs || segments.isOld(nowMs);
      if (pending.count() === 0 && disk.is === "good" && isQuiet) {
        add({ is: "record", record: { k: "alive" } });
      }
      await drain();
      if (pending.count() > 0) return 0;
      if (disk.is === "failing") return Math.max(batchMs, disk.retryAtMs - clock.monotonicMs());
      if (encoder.heldSinceMs() !== null || segments.isOver()) return holdMs;
      return Math.min(aliveMs, segments.maxMs);
    },
    onError: (error) => deps.onProblem(faultLine(error)),
  });

  /** Follows the pane; each `repaint` begins again with the whole screen. */
  async function watch(pane: NonNullable<RecorderSources["pane"]>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const here = new AbortController();
      repaint = () => here.abort();
      for await (const frame of pane(AbortSignal.any([signal, here.signal]))) {
        if (here.signal.aborted) break;
        take(frame);
      }
      if (!here.signal.aborted) await sleep(clock, paneAgainMs, signal);
    }
  }

  function take(frame: PaneFrame): void {
    if (frame.kind === "bytes") add({ is: "output", bytes: frame.bytes });
    else if (frame.kind === "picture") {
      const gap = frame.why === "skipped" ? "the terminal wrote more than could be read" : null;
      add({ is: "picture", width: frame.width, height: frame.height, gap });
    }
  }

  async function finish(): Promise<void> {
    const stoppedMs = clock.nowMs();
    await loop.stop();
    await drain();
    // Until then it was seen that nothing happened after the last record.
    if (segments.isOpen()) await segments.end(encoder.flush(), Math.max(pending.lastMs(), stoppedMs));
  }

  return {
    start() {
      if (hearing !== null) return;
      const pane = new AbortController();
      hearing = { pane, unhook: [] };
      segments.open();
      encoder = createEncoder({ title: deps.title, known: { ...nothingKnown, queue: sources.queue() } });
      writtenMs = clock.nowMs();
      add({ is: "record", record: { k: "alive" } });
      hearing.unhook = [
        sources.events((event) => add({ is: "record", record: { k: "event", event } })),
        sources.terminal((terminal) => add({ is: "record", record: { k: "terminal", terminal } })),
        sources.decisions((decision) => add({ is: "record", record: { k: "decision", decision } })),
      ];
      if (sources.pane) {
        void watch(sources.pane, pane.signal).catch((error) => deps.onProblem(faultLine(error)));
      }
      loop.start();
    },
    async stop() {
      if (hearing === null) return;
      const { pane, unhook } = hearing;
      hearing = null;
      pane.abort();
      for (const end of unhook) end();
      // A disk that hangs must not keep the gateway from ending.
      await withinTime(
        clock,
        stopMs,
        finish().catch((error) => deps.onProblem(faultLine(error))),
      );
    },
    facts: () => ({ ...segments.facts(), problem: disk.is === "failing" ? disk.reason : null }),
  };
}
