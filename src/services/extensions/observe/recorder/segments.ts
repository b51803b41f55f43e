import { join } from "node:path";
import type { ContainedPath } from "../../../../system/contained-path.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";

/**
 * A part of the recording, two files: `<number>-<start>.jsonl` with the records, and `<number>-<start>.cast`
 * with the terminal's output, where there was a terminal. The number grows; the start is in epoch
 * milliseconds.
 */
export interface Segment {
  number: number;
  startMs: number;
  /** Of both files. */
  bytes: number;
}

const recordingsFolder = "recordings";

/** Where one is. */
export interface Place extends Omit<Segment, "bytes"> {
  /** Whether a terminal was recorded. */
  cast: boolean;
}

/** Where the recordings of a session are. */
export function recordingsOf(gatewayRoot: string): string {
  return join(gatewayRoot, recordingsFolder);
}

const namePattern = /^(\d{8})-(\d{1,15})\.(jsonl|cast)$/;

export type SegmentFile = "jsonl" | "cast";

/** The name of one of its files. */
export const segmentName = ({ number, startMs }: Pick<Segment, "number" | "startMs">, kind: SegmentFile) =>
  `${String(number).padStart(8, "0")}-${startMs}.${kind}`;

export function segmentPath(
  files: Pick<Files, "contained">,
  gatewayRoot: string,
  segment: Pick<Segment, "number" | "startMs">,
  kind: SegmentFile,
  expected: "file" | "entry" = "file",
): ContainedPath {
  return files.contained(gatewayRoot, [recordingsFolder, segmentName(segment, kind)], expected);
}

/**
 * The segments on disk, oldest first; other files are passed over. Throws `precondition_failed` when the
 * folder is a link or not this user's.
 */
export function listSegments(
  files: Pick<Files, "list" | "isLink" | "isOwnFolder">,
  gatewayRoot: string,
): Place[] {
  const folder = recordingsOf(gatewayRoot);
  const names = files.list(folder);
  if (names.length > 0 || files.isLink(folder)) refuseForeign(files, folder);
  const found = new Map<number, Place>();
  for (const name of names) {
    const [, number, start, kind] = namePattern.exec(name) ?? [];
    if (number === undefined) continue;
    const known = found.get(Number(number));
    const cast = kind === "cast" || known?.cast === true;
    found.set(Number(number), { number: Number(number), startMs: Number(start), cast });
  }
  return [...found.values()].sort((one, other) => one.number - other.number);
}

/** Throws `precondition_failed` unless the folder itself, not what a link leads to, is this user's. */
export function refuseForeign(files: Pick<Files, "isOwnFolder">, folder: string): void {
  if (files.isOwnFolder(folder)) return;
  throw new ServiceError("precondition_failed", `${folder} is no folder of this user; move it away`);
}

/** The segments with their sizes. What is no file in the place of one has none. */
export function measureSegments(
  files: Pick<Files, "list" | "isLink" | "isOwnFolder" | "stat" | "contained">,
  gatewayRoot: string,
): Segment[] {
  const sizeOf = (segment: Place, kind: SegmentFile) => {
    const path = segmentPath(files, gatewayRoot, segment, kind, "entry");
    return files.isLink(path) ? 0 : (files.stat(path)?.size ?? 0);
  };
  return listSegments(files, gatewayRoot).map((segment) => ({
    number: segment.number,
    startMs: segment.startMs,
    bytes: sizeOf(segment, "jsonl") + sizeOf(segment, "cast"),
  }));
}

export interface RecorderLimits {
  maxBytes: number;
  maxAgeMs: number;
}

const smallest = { bytes: 64 * 1024, ms: 5_000 };
const largest = { bytes: 1024 * 1024, ms: 3_600_000 };

/** When a segment ends: small enough that removing the oldest one keeps nearly all that is allowed. Pure. */
export function segmentLimits({ maxBytes, maxAgeMs }: RecorderLimits): { bytes: number; ms: number } {
  const between = (value: number, kind: "bytes" | "ms") =>
    Math.min(largest[kind], Math.max(smallest[kind], Math.floor(value / 16)));
  return { bytes: between(maxBytes, "bytes"), ms: between(maxAgeMs, "ms") };
}

/**
 * The oldest segments that must go: all beyond `maxBytes`, and those that ended before `maxAgeMs`. A segment
 * ends where the next one begins; the last one, which is written, stays. `segments`: oldest first. Pure.
 */
export function expiredSegments(
  segments: readonly Segment[],
  { maxBytes, maxAgeMs }: RecorderLimits,
  nowMs: number,
): Segment[] {
  let total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const gone: Segment[] = [];
  for (const [index, segment] of segments.slice(0, -1).entries()) {
    const endMs = segments[index + 1]?.startMs ?? nowMs;
    if (total <= maxBytes && endMs >= nowMs - maxAgeMs) break;
    total -= segment.bytes;
    gone.push(segment);
  }
  return gone;
}

/**
 * The segment that holds a moment: the newest that began by then, else the oldest one. After the wall clock
 * was set back two segments may hold it; the one that was recorded later counts. Pure.
 */
export function segmentAt<S extends Pick<Segment, "startMs">>(
  segments: readonly S[],
  atMs: number,
): { segment: S; index: number } | null {
  const index = segments.findLastIndex(({ startMs }) => startMs <= atMs);
  const segment = segments[Math.max(0, index)];
  return segment === undefined ? null : { segment, index: Math.max(0, index) };
}
