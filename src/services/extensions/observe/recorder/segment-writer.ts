import type { Clock } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import type { Batch } from "./encoder.ts";
import { renderRecord } from "./records.ts";
import {
  expiredSegments,
  measureSegments,
  type RecorderLimits,
  recordingsOf,
  refuseForeign,
  type Segment,
  type SegmentFile,
  segmentLimits,
  segmentPath,
} from "./segments.ts";

/** A segment that is over ends without a picture when none comes. */
const pictureMs = 5_000;
const defaultReserveBytes = 32 * 1024 * 1024;

type Appender = Awaited<ReturnType<Files["createInBackground"]>>;

interface OpenSegment extends Segment {
  records: Appender;
  cast: Appender | null;
}

/**
 * The segments on disk, and the one that is written:
 *
 * ```
 *   none ──a batch that begins one──> open ──large or old enough──> over ──a batch that begins one──> open
 *     ^                                 └──abandon, end──> none <──abandon, end──┘
 * ```
 *
 * An `over` segment is written on, until the next one can begin with a picture of the terminal. A failure to
 * write leaves the state as it is; the caller abandons the segment.
 */
export function createSegmentWriter(options: {
  files: Files;
  clock: Clock;
  gatewayRoot: string;
  limits: RecorderLimits;
  /** Bytes on the disk that are left to others. */
  reserveBytes?: number | undefined;
}) {
  const { files, clock, gatewayRoot, limits, reserveBytes = defaultReserveBytes } = options;
  const each = segmentLimits(limits);
  /** Oldest first; the last one is `current`, where there is one. */
  let segments: Segment[] = [];
  let current: OpenSegment | null = null;
  /** Since when it is over, monotonic; null while it is not. */
  let overSinceMs: number | null = null;

  /** A new file of a segment, in a folder that is this user's alone. */
  function create(segment: Segment, kind: SegmentFile): Promise<Appender> {
    const folder = recordingsOf(gatewayRoot);
    if (files.isLink(folder)) refuseForeign(files, folder);
    files.ensureDirectory("file:recording-folder", folder);
    refuseForeign(files, folder);
    const exposed = files.exposure(folder, { below: gatewayRoot });
    if (exposed) throw new ServiceError("precondition_failed", `${exposed.path} ${exposed.reason}`);
    return files.createInBackground("file:recording", segmentPath(files, gatewayRoot, segment, kind));
  }

  async function close(segment: OpenSegment | null): Promise<void> {
    await segment?.records.close().catch(() => {});
    await segment?.cast?.close().catch(() => {});
  }

  /** The next segment, on disk and empty. */
  async function begin(startMs: number): Promise<OpenSegment> {
    if (files.freeBytes(gatewayRoot) < reserveBytes) {
      const free = Math.round(reserveBytes / 1024 / 1024);
      throw new ServiceError("precondition_failed", `less than ${free} MiB are free on the disk`);
    }
    const segment = { number: (segments.at(-1)?.number ?? 0) + 1, startMs, bytes: 0 };
    const opened = { ...segment, records: await create(segment, "jsonl"), cast: null };
    segments.push(opened);
    for (const old of expiredSegments(segments, limits, clock.nowMs())) {
      await remove(old);
      forget(old);
    }
    return opened;
  }

  async function remove(segment: Segment): Promise<void> {
    for (const kind of ["cast", "jsonl"] as const) {
      const path = segmentPath(files, gatewayRoot, segment, kind, "entry");
      await files.removeInBackground("file:recording-drop", path);
    }
  }

  function forget({ number }: Segment): void {
    segments = segments.filter((segment) => segment.number !== number);
  }

  return {
    /** Goes on after the segments on disk. */
    open(): void {
      try {
        segments = measureSegments(files, gatewayRoot);
      } catch {
        // Nothing is written to a folder that cannot be used either, which is reported.
        segments = [];
      }
    },
    /** Returns whether the segment is over now and was not before. */
    async write({ begins, records, cast, lastMs }: Batch): Promise<boolean> {
      if (begins !== null) {
        await close(current);
        current = await begin(begins.startMs);
        overSinceMs = null;
      }
      const segment = current;
      if (segment === null) return false;
      if (cast !== "") {
        segment.cast ??= await create(segment, "cast");
        await segment.cast.write(Buffer.from(cast));
      }
      if (records !== "") await segment.records.write(Buffer.from(records));
      segment.bytes += Buffer.byteLength(cast) + Buffer.byteLength(records);
      const isOver = segment.bytes >= each.bytes || lastMs - segment.startMs >= each.ms;
      if (!isOver || overSinceMs !== null) return false;
      overSinceMs = clock.monotonicMs();
      return true;
    },
    /** Gives the segment up. One that holds nothing is removed. */
    async abandon(): Promise<void> {
      const segment = current;
      current = null;
      overSinceMs = null;
      await close(segment);
      if (segment === null || segment.bytes > 0) return;
      forget(segment);
      await remove(segment);
    },
    /** Ends the recording at a time in epoch milliseconds. */
    async end(cast: string, endMs: number): Promise<void> {
      if (current === null) return;
      if (cast !== "") await current.cast?.write(Buffer.from(cast));
      await current.records.write(Buffer.from(renderRecord({ k: "end", goesOn: false, t: endMs })));
      await close(current);
      current = null;
    },
    /** When the next segment begins. `picturesCome`: the terminal can be asked for one. */
    rotation(picturesCome: boolean): "no" | "at_picture" | "now" {
      if (overSinceMs === null) return "no";
      return picturesCome && clock.monotonicMs() - overSinceMs < pictureMs ? "at_picture" : "now";
    },
    isOpen: (): boolean => current !== null,
    isOver: (): boolean => overSinceMs !== null,
    /** Old enough to end, though nothing was written to it since. */
    isOld: (nowMs: number): boolean => current !== null && nowMs - current.startMs >= each.ms,
    /** How long a segment lasts at most. */
    maxMs: each.ms,
    facts: () => ({
      segments: segments.length,
      bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
      fromMs: segments[0]?.startMs ?? null,
    }),
  };
}
