import { jsonValue } from "../../../../protocol/json.ts";
import { maxCastBytes, type RecordedCast, type RecordedMoment } from "../../../../protocol/recorder.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { toTimestamp } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { aliveMs } from "./recorder.ts";
import {
  advance,
  checkpointStart,
  type Known,
  nothingKnown,
  parseRecord,
  type RecordLine,
  renderCastHeader,
  renderCastLine,
} from "./records.ts";
import { listSegments, type Place, type SegmentFile, segmentAt, segmentPath } from "./segments.ts";

type ReaderFiles = Pick<Files, "list" | "isLink" | "isOwnFolder" | "readPart" | "contained" | "stat">;

/** No segment is larger: each ends soon after a mebibyte. */
const maxSegmentBytes = 16 * 1024 * 1024;
/** How much later than an `alive` the next record may come on a busy machine. */
const lateMs = 15_000;

/**
 * What was known at a moment. Reads one segment and the next one's begin, whatever is recorded besides. A
 * moment before all records, or without any, throws `not_found`. `nowMs`: a recording without an end may go
 * on until then. `agentName`: for what can be done where nothing is recorded.
 */
export function readMoment(
  files: ReaderFiles,
  gatewayRoot: string,
  { atMs, nowMs, agentName }: { atMs: number; nowMs: number; agentName: string },
): RecordedMoment {
  const segments = listSegments(files, gatewayRoot);
  const place = segmentAt(segments, atMs);
  if (place === null) throw notRecorded("nothing is recorded of this agent", agentName);
  const { segment, index } = place;
  if (segment.startMs > atMs) throw tooEarly(segment.startMs);
  const { bytes, known, last } = lastKnown(files, gatewayRoot, { segments, index, atMs });
  const next = segments[index + 1] ?? null;
  const gap = gapAt({ last, known, bytes, atMs, nowMs }, next && firstGap(files, gatewayRoot, next));
  return {
    schema_version: 1,
    at_utc: toTimestamp(atMs),
    recorded: gap === null ? "yes" : "gap",
    gap,
    recorded_at_utc: toTimestamp(last?.t ?? segment.startMs),
    terminal: known.terminal?.of ?? null,
    terminal_since_utc: known.terminal && toTimestamp(known.terminal.sinceMs),
    decision: known.decision?.of ?? null,
    decision_since_utc: known.decision && toTimestamp(known.decision.sinceMs),
    queue: known.queue,
    events: [...known.events],
    screen_recorded: segment.cast,
  };
}

/**
 * From the segment at `index`, or the newest before it that holds anything: a crash may leave an empty one.
 */
function lastKnown(
  files: ReaderFiles,
  gatewayRoot: string,
  { segments, index, atMs }: { segments: readonly Place[]; index: number; atMs: number },
): { bytes: Buffer; known: Known; last: RecordLine | null } {
  let bytes: Buffer = Buffer.alloc(0);
  for (const segment of segments.slice(0, index + 1).reverse()) {
    bytes = read(files, gatewayRoot, segment, "jsonl");
    const found = knownAt(bytes, atMs);
    if (found.last !== null) return { bytes, ...found };
  }
  return { bytes, known: nothingKnown, last: null };
}

function notRecorded(message: string, agent_name: string): ServiceError {
  const remedy: Remedy = { code: "record_screen", agent_name };
  return new ServiceError("not_found", message, { data: { remedy } });
}

function tooEarly(startMs: number): ServiceError {
  return new ServiceError("not_found", `nothing is recorded before ${toTimestamp(startMs)}`);
}

function read(files: ReaderFiles, gatewayRoot: string, segment: Place, kind: SegmentFile): Buffer {
  const path = segmentPath(files, gatewayRoot, segment, kind);
  const size = Math.min(files.stat(path)?.size ?? 0, maxSegmentBytes);
  const part = files.readPart(path, 0, size);
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

const newline = 0x0a;

/** The end of the last whole line whose time is not after `atMs`: times never fall within a segment. */
function endOfRecords(bytes: Buffer, atMs: number): number {
  let low = 0;
  let high = bytes.lastIndexOf(newline) + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const begin = bytes.lastIndexOf(newline, middle - 1) + 1;
    const end = bytes.indexOf(newline, middle) + 1;
    const line = parseRecord(bytes.toString("utf8", begin, end));
    if (line === null || line.t <= atMs) low = end;
    else high = Math.max(low, begin);
  }
  return low;
}

function knownAt(bytes: Buffer, atMs: number): { known: Known; last: RecordLine | null } {
  const end = endOfRecords(bytes, atMs);
  const begin = checkpointBefore(bytes, end);
  let known = nothingKnown;
  let last: RecordLine | null = null;
  for (const text of bytes.toString("utf8", begin, end).split("\n")) {
    const line = parseRecord(text);
    if (line === null) continue;
    known = advance(known, line);
    last = line;
  }
  return { known, last };
}

/** Where the last checkpoint before `end` begins that is not damaged; 0 without one. */
function checkpointBefore(bytes: Buffer, end: number): number {
  let begin = end;
  do {
    begin = begin > 1 ? bytes.lastIndexOf(`\n${checkpointStart}`, begin - 2) + 1 : 0;
  } while (begin > 0 && parseRecord(bytes.toString("utf8", begin, bytes.indexOf(newline, begin))) === null);
  return begin;
}

/** The gap that a segment begins with. */
function firstGap(files: ReaderFiles, gatewayRoot: string, next: Place) {
  const head = files.readPart(segmentPath(files, gatewayRoot, next, "jsonl"), 0, 64 * 1024);
  for (const text of new TextDecoder().decode(head).split("\n", 4)) {
    const line = parseRecord(text);
    if (line?.k === "gap") return { startMs: next.startMs, fromMs: line.fromMs, why: line.why };
  }
  return { startMs: next.startMs, fromMs: null, why: null };
}

/** Why nothing was recorded at a moment; null when it was. */
function gapAt(
  {
    last,
    known,
    bytes,
    atMs,
    nowMs,
  }: { last: RecordLine | null; known: Known; bytes: Buffer; atMs: number; nowMs: number },
  next: { startMs: number; fromMs: number | null; why: string | null } | null,
): string | null {
  if (last === null) return "no record of then can be read";
  if (atMs > nowMs) return "this moment has not come yet";
  if (last.k === "end" && !last.goesOn) {
    const stopped = known.events.at(-1)?.kind === "gateway_stopped";
    return `${stopped ? "its gateway was stopped" : "the recorder was switched off"} at ${toTimestamp(last.t)}`;
  }
  if (next?.why && next.fromMs !== null && atMs >= next.fromMs) return next.why;
  const later = parseRecord(lineAfter(bytes, atMs));
  if (later?.k === "gap" && later.fromMs <= atMs) return later.why;
  if (later !== null || last.k === "end") return null;
  if (atMs <= last.t + aliveMs + lateMs) return null;
  return `the recorder ended without a word after ${toTimestamp(last.t)}: its gateway was killed, or the machine stopped`;
}

function lineAfter(bytes: Buffer, atMs: number): string {
  const from = endOfRecords(bytes, atMs);
  const end = bytes.indexOf(newline, from);
  return end < 0 ? "" : bytes.toString("utf8", from, end);
}

/** One output, new size or mark of a recording. */
export interface CastEvent {
  atMs: number;
  code: "o" | "r" | "m";
  data: string;
}

/** A recording from a moment on. The first output is the screen of that moment. */
export interface Cast {
  width: number;
  height: number;
  fromMs: number;
  events: Generator<CastEvent>;
}

/**
 * What the terminal was sent from `fromMs` to `untilMs`; each segment is read when it is reached. Throws
 * `not_found` where no screen is recorded then; one that begins later is given from its begin.
 */
export function readCast(
  files: ReaderFiles,
  gatewayRoot: string,
  { fromMs, untilMs, agentName }: { fromMs: number; untilMs: number; agentName: string },
): Cast {
  const segments = listSegments(files, gatewayRoot).filter(({ cast }) => cast);
  const place = segmentAt(segments, fromMs);
  if (place === null) throw notRecorded("no screen of this agent is recorded", agentName);
  const { index, cast: first } = openNearest(files, gatewayRoot, { segments, index: place.index });
  if (first === null) throw new ServiceError("not_found", "the recording of that moment cannot be read");
  const beginMs = Math.max(fromMs, first.startMs);
  if (beginMs > untilMs)
    throw new ServiceError("not_found", `no screen is recorded before ${toTimestamp(beginMs)}`);
  let { width, height } = first;
  let screen = "";
  const later: CastEvent[] = [];
  for (const event of first.events) {
    if (event.atMs > beginMs) later.push(event);
    else if (event.code === "o") screen += event.data;
    else if (event.code === "r") ({ width, height } = sizeIn(event.data) ?? { width, height });
  }
  function* events(): Generator<CastEvent> {
    yield { atMs: beginMs, code: "o", data: screen };
    yield* within(later, untilMs);
    for (const segment of segments.slice(index + 1)) {
      if (segment.startMs > untilMs) return;
      const cast = openCast(files, gatewayRoot, segment);
      if (cast === null) continue;
      yield { atMs: cast.startMs, code: "r", data: `${cast.width}x${cast.height}` };
      yield* within(cast.events, untilMs);
    }
  }
  return { width, height, fromMs: beginMs, events: events() };
}

/**
 * The recording at `index`, or before it, else after it, that can be read: a crash may leave an empty one.
 */
function openNearest(
  files: ReaderFiles,
  gatewayRoot: string,
  { segments, index }: { segments: readonly Place[]; index: number },
): { index: number; cast: ReturnType<typeof openCast> } {
  const places = segments.map((segment, place) => ({ segment, place }));
  for (const { segment, place } of [...places.slice(0, index + 1).reverse(), ...places.slice(index + 1)]) {
    const cast = openCast(files, gatewayRoot, segment);
    if (cast !== null) return { index: place, cast };
  }
  return { index, cast: null };
}

function* within(events: Iterable<CastEvent>, untilMs: number): Generator<CastEvent> {
  for (const event of events) if (event.atMs <= untilMs) yield event;
}

const sizeIn = (text: string): { width: number; height: number } | null => {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? [];
  return width === undefined ? null : { width: Number(width), height: Number(height) };
};

/** A torn last line is left out. */
function openCast(files: ReaderFiles, gatewayRoot: string, segment: Place) {
  const text = read(files, gatewayRoot, segment, "cast").toString("utf8");
  const [head = "", ...lines] = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  const header = jsonValue(head) as { width?: unknown; height?: unknown } | null;
  if (typeof header?.width !== "number" || typeof header.height !== "number") return null;
  const { startMs } = segment;
  const events = lines.flatMap((line): CastEvent[] => {
    const value = jsonValue(line);
    if (!Array.isArray(value)) return [];
    const [seconds, code, data] = value as unknown[];
    const known = code === "o" || code === "r" || code === "m";
    if (typeof seconds !== "number" || !known || typeof data !== "string") return [];
    return [{ atMs: startMs + seconds * 1000, code, data }];
  });
  return { startMs, width: header.width, height: header.height, events };
}

/** The lines of one asciicast v2 file. */
export function* renderCast(cast: Cast, title: string): Generator<{ line: string; atMs: number }> {
  const { width, height, fromMs, events } = cast;
  yield { line: renderCastHeader({ width, height, startMs: fromMs, title }), atMs: fromMs };
  let size = `${width}x${height}`;
  for (const { atMs, code, data } of events) {
    if (code === "r" && data === size) continue;
    if (code === "r") size = data;
    yield { line: renderCastLine((atMs - fromMs) / 1000, code, data), atMs };
  }
}

/** The same in one answer of bounded size. */
export function toRecordedCast(
  cast: Cast,
  { untilMs, title }: { untilMs: number; title: string },
): RecordedCast {
  let text = "";
  let bytes = 0;
  let nextMs: number | null = null;
  let count = 0;
  for (const { line, atMs } of renderCast(cast, title)) {
    bytes += Buffer.byteLength(line);
    count += 1;
    // The screen that it begins with goes out, however large.
    if (bytes > maxCastBytes && count > 2) {
      nextMs = atMs;
      break;
    }
    text += line;
  }
  return {
    schema_version: 1,
    from_utc: toTimestamp(cast.fromMs),
    until_utc: toTimestamp(nextMs ?? untilMs),
    next_utc: nextMs === null ? null : toTimestamp(Math.ceil(nextMs)),
    cast: text,
  };
}
