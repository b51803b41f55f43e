import type { GatewayEvent } from "../../protocol/events.ts";
import type { RecordedDecision, RecordedQueue, RecordedTerminal } from "../../protocol/recorder.ts";
import { afterThisTurn, type Clock, sleep, withinTime } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import { faultLine } from "../../system/storage-fault.ts";
import type { PaneFrame } from "../terminal/tmux/pane-stream.ts";
import { type Batch, createEncoder, type Item } from "./encoder.ts";
import { nothingKnown, renderRecord } from "./records.ts";
import {
  expiredSegments,
  measureSegments,
  type RecorderLimits,
  recordingsOf,
  refuseForeign,
  type Segment,
  segmentLimits,
  segmentPath,
} from "./segments.ts";

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
const maxPendingBytes = 4 * 1024 * 1024;
const maxPendingItems = 20_000;
/**
 * In one turn of the event loop no more is read for secrets: a gateway answers meanwhile, whatever the
 * terminal shows.
 */
const maxPartBytes = 16 * 1024;
const maxPartItems = 100;
/** A segment that is over ends without a picture when none comes. */
const pictureMs = 5_000;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;
const paneAgainMs = 2_000;
const stopMs = 2_000;
const defaultReserveBytes = 32 * 1024 * 1024;
/** A clock that is corrected by less is not turned back. */
const setBackMs = 1_000;

interface OpenSegment extends Segment {
  records: Awaited<ReturnType<Files["createInBackground"]>>;
  cast: Awaited<ReturnType<Files["createInBackground"]>> | null;
}

export function createRecorder(deps: RecorderDeps): Recorder {
  const { files, clock, gatewayRoot, limits, sources } = deps;
  const each = segmentLimits(limits);
  let segments: Segment[] = [];
  let current: OpenSegment | null = null;
  let encoder = createEncoder({ title: deps.title, known: nothingKnown });
  let pending: Item[] = [];
  let pendingBytes = 0;
  let lastMs = 0;
  let writtenMs = 0;
  let problem: string | null = null;
  let retryMs = firstRetryMs;
  let retryAtMs = 0;
  /** Since when the segment is over and waits for a picture to begin the next one with; monotonic. */
  let overSinceMs: number | null = null;
  let repaint = () => {};
  let watching: AbortController | null = null;
  let unhook: (() => void)[] = [];

  function add(item: Item extends infer One ? (One extends Item ? Omit<One, "t"> : never) : never): void {
    const nowMs = clock.nowMs();
    const wasEmpty = pending.length === 0;
    if (nowMs < lastMs - setBackMs) {
      lastMs = nowMs;
      pending.push({ is: "set_back", t: nowMs });
      repaint();
    }
    lastMs = Math.max(lastMs, nowMs);
    if (item.is === "output") {
      for (let from = 0; from < item.bytes.length; from += maxPartBytes)
        pending.push({ is: "output", bytes: item.bytes.subarray(from, from + maxPartBytes), t: lastMs });
    } else pending.push({ ...item, t: lastMs } as Item);
    pendingBytes += item.is === "output" ? item.bytes.length : 0;
    if (pendingBytes > maxPendingBytes || pending.length > maxPendingItems) {
      skip("the disk did not take the recording in time");
    }
    if (wasEmpty) loop.wake();
  }

  /** Keeps what is known right, and nothing else of what waits. */
  function skip(why: string): void {
    const fromMs = pending[0]?.t ?? lastMs;
    encoder.skip(pending, why);
    encoder.abandon(fromMs, why);
    pending = [];
    pendingBytes = 0;
    repaint();
  }

  async function close(segment: OpenSegment | null): Promise<void> {
    await segment?.records.close().catch(() => {});
    await segment?.cast?.close().catch(() => {});
  }

  /** A new file of a segment, in a folder that is this user's alone. */
  function create(segment: Segment, kind: "jsonl" | "cast") {
    const folder = recordingsOf(gatewayRoot);
    if (files.isLink(folder)) refuseForeign(files, folder);
    files.ensureDirectory("file:recording-folder", folder);
    refuseForeign(files, folder);
    const exposed = files.exposure(folder, { below: gatewayRoot });
    if (exposed) throw new ServiceError("precondition_failed", `${exposed.path} ${exposed.reason}`);
    const path = segmentPath(files, gatewayRoot, segment, kind);
    return files.createInBackground("file:recording", path);
  }

  /** The next segment, on disk and empty. */
  async function begin(startMs: number): Promise<OpenSegment> {
    const reserve = deps.reserveBytes ?? defaultReserveBytes;
    if (files.freeBytes(gatewayRoot) < reserve) {
      const free = Math.round(reserve / 1024 / 1024);
      throw new ServiceError("precondition_failed", `less than ${free} MiB are free on the disk`);
    }
    const segment = { number: (segments.at(-1)?.number ?? 0) + 1, startMs, bytes: 0 };
    const opened = { ...segment, records: await create(segment, "jsonl"), cast: null };
    segments.push(opened);
    await removeExpired();
    return opened;
  }

  /** None where the folder cannot be used: then nothing is written there either, which is reported. */
  function foundSegments(): Segment[] {
    try {
      return measureSegments(files, gatewayRoot);
    } catch {
      return [];
    }
  }

  async function removeExpired(): Promise<void> {
    for (const old of expiredSegments(segments, limits, clock.nowMs())) {
      await remove(old);
      segments = segments.filter(({ number }) => number !== old.number);
    }
  }

  async function remove(segment: Segment): Promise<void> {
    for (const kind of ["cast", "jsonl"] as const) {
      const path = segmentPath(files, gatewayRoot, segment, kind, "entry");
      await files.removeInBackground("file:recording-drop", path);
    }
  }

  async function write({ begins, records, cast, lastMs: endMs }: Batch): Promise<void> {
    if (begins !== null) {
      await close(current);
      current = await begin(begins.startMs);
      overSinceMs = null;
    }
    const segment = current;
    if (segment === null) return;
    if (cast !== "") {
      segment.cast ??= await create(segment, "cast");
      await segment.cast.write(Buffer.from(cast));
    }
    if (records !== "") await segment.records.write(Buffer.from(records));
    segment.bytes += Buffer.byteLength(cast) + Buffer.byteLength(records);
    writtenMs = Math.max(writtenMs, endMs);
    const over = segment.bytes >= each.bytes || endMs - segment.startMs >= each.ms;
    if (over && overSinceMs === null) {
      overSinceMs = clock.monotonicMs();
      repaint();
    }
  }

  function rotation(): "no" | "at_picture" | "now" {
    if (overSinceMs === null) return "no";
    const waits = watching !== null && sources.pane !== null;
    return waits && clock.monotonicMs() - overSinceMs < pictureMs ? "at_picture" : "now";
  }

  /** Takes what waits now, part by part. */
  async function drain(): Promise<void> {
    let left = pending.length;
    do {
      const part = takePart(left);
      left -= part.length;
      await drainPart(part);
      if (left > 0) await new Promise<void>((resolve) => afterThisTurn(resolve));
      // Items that were dropped meanwhile wait no more.
      left = Math.min(left, pending.length);
    } while (left > 0);
  }

  function takePart(most: number): Item[] {
    let [count, bytes] = [0, 0];
    for (const item of pending.slice(0, Math.min(most, maxPartItems))) {
      const own = item.is === "output" ? item.bytes.length : 0;
      if (count > 0 && bytes + own > maxPartBytes) break;
      count += 1;
      bytes += own;
    }
    pendingBytes -= bytes;
    return pending.splice(0, count);
  }

  async function drainPart(items: readonly Item[]): Promise<void> {
    if (problem !== null && clock.monotonicMs() < retryAtMs) {
      encoder.skip(items, problem);
      return;
    }
    const fromMs = items[0]?.t ?? lastMs;
    const rotate = rotation();
    const batches = encoder.encode(items, { rotate });
    if (rotate === "now" && items.length > 0) repaint();
    const heldMs = encoder.heldSinceMs();
    // Items that wait may continue the held text.
    const isLast = pending.length === 0;
    if (isLast && heldMs !== null && clock.nowMs() - heldMs >= holdMs && current !== null) {
      const cast = encoder.flush();
      const last = batches.at(-1);
      if (last) last.cast += cast;
      else batches.push({ begins: null, records: "", cast, lastMs });
    }
    try {
      for (const batch of batches) await write(batch);
      if (items.length > 0 && problem !== null) {
        problem = null;
        retryMs = firstRetryMs;
        repaint();
      }
    } catch (error) {
      fail(fromMs, error);
    }
  }

  function fail(fromMs: number, error: unknown): void {
    const reason = faultLine(error);
    if (reason !== problem) deps.onProblem(reason);
    problem = reason;
    retryAtMs = clock.monotonicMs() + retryMs;
    retryMs = Math.min(retryMs * 2, lastRetryMs);
    void giveUp(current).catch((failed) => deps.onProblem(faultLine(failed)));
    current = null;
    encoder.abandon(fromMs, reason);
    overSinceMs = null;
  }

  /** One that holds nothing is not left behind. */
  async function giveUp(segment: OpenSegment | null): Promise<void> {
    await close(segment);
    if (segment === null || segment.bytes > 0) return;
    segments = segments.filter(({ number }) => number !== segment.number);
    await remove(segment);
  }

  const loop = createLoop({
    clock,
    async turn(signal) {
      if (pending.length > 0) await sleep(clock, batchMs, signal);
      const nowMs = clock.nowMs();
      const quiet = nowMs - writtenMs >= aliveMs || isOld(nowMs);
      if (pending.length === 0 && problem === null && quiet) {
        add({ is: "record", record: { k: "alive" } });
      }
      await drain();
      if (pending.length > 0) return 0;
      if (problem !== null) return Math.max(batchMs, retryAtMs - clock.monotonicMs());
      if (encoder.heldSinceMs() !== null || overSinceMs !== null) return holdMs;
      return Math.min(aliveMs, each.ms);
    },
    onError: (error) => deps.onProblem(faultLine(error)),
  });

  const isOld = (nowMs: number) => current !== null && nowMs - current.startMs >= each.ms;

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
    const segment = current;
    if (segment === null) return;
    const cast = encoder.flush();
    if (cast !== "") await segment.cast?.write(Buffer.from(cast));
    // Until then it was seen that nothing happened after the last record.
    const endMs = Math.max(lastMs, stoppedMs);
    await segment.records.write(Buffer.from(renderRecord({ k: "end", goesOn: false, t: endMs })));
    await close(segment);
    current = null;
  }

  return {
    start() {
      if (watching !== null) return;
      watching = new AbortController();
      segments = foundSegments();
      encoder = createEncoder({ title: deps.title, known: { ...nothingKnown, queue: sources.queue() } });
      writtenMs = clock.nowMs();
      add({ is: "record", record: { k: "alive" } });
      unhook = [
        sources.events((event) => add({ is: "record", record: { k: "event", event } })),
        sources.terminal((terminal) => add({ is: "record", record: { k: "terminal", terminal } })),
        sources.decisions((decision) => add({ is: "record", record: { k: "decision", decision } })),
      ];
      if (sources.pane) {
        void watch(sources.pane, watching.signal).catch((error) => deps.onProblem(faultLine(error)));
      }
      loop.start();
    },
    async stop() {
      if (watching === null) return;
      watching.abort();
      watching = null;
      for (const end of unhook) end();
      unhook = [];
      // A disk that hangs must not keep the gateway from ending.
      await withinTime(
        clock,
        stopMs,
        finish().catch((error) => deps.onProblem(faultLine(error))),
      );
    },
    facts: () => ({
      segments: segments.length,
      bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
      fromMs: segments[0]?.startMs ?? null,
      problem,
    }),
  };
}
