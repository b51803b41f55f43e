import { basename, dirname } from "node:path";
import { type EventKind, GatewayEvent } from "../../protocol/events.ts";
import { parseJson } from "../../protocol/json.ts";
import { afterThisTurn, type Clock, createTimestamps } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";

interface EventFileLimits {
  /** Size of one file, bytes. */
  maxBytes: number;
  /** Number of files, the one written to included. */
  count: number;
}

/**
 * Opens the files and heals what a crash left: a last line that is torn is cut away, one that only lacks its
 * end gets it. Positions are stable: they go on after the newest event on disk, in whichever file it is.
 */
function openEventFiles(options: { files: Files; path: string; limits: EventFileLimits }) {
  const { files, path, limits } = options;
  const folder = dirname(path);
  const stem = basename(path, ".jsonl");
  const pattern = new RegExp(`^${stem}\\.(\\d+)\\.jsonl$`);

  /** First positions of the closed files, ascending. */
  function closed(): number[] {
    return files
      .list(folder)
      .flatMap((name) => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((left, right) => left - right);
  }
  const closedPath = (seq: number) => files.contained(folder, [`${stem}.${seq}.jsonl`]);

  heal();
  let first = firstSeqIn(files, path);
  /** Size of the file before a write that failed and may have left a part of it. */
  let wholeSize: number | null = null;

  function heal(): void {
    const torn = findTornTail(files, path);
    if (!torn) return;
    if (torn.wholeEvent) files.append("file:events-heal", path, "\n");
    else files.truncate("file:events-heal", path, torn.offset);
  }

  function cutTo(size: number): void {
    if ((files.stat(path)?.size ?? 0) > size) files.truncate("file:events-heal", path, size);
  }

  function lastClosedSeq(): number {
    for (const seq of closed().reverse()) {
      const found = lastSeqIn(files, closedPath(seq));
      if (found !== null) return found;
    }
    return 0;
  }

  function rotate(): void {
    if (first === null) files.removeFile("file:events-drop", path);
    else files.rename("file:events-rotate", files.contained(folder, [basename(path)]), closedPath(first));
    for (const seq of closed().slice(0, -(limits.count - 1) || undefined)) {
      files.removeFile("file:events-drop", closedPath(seq));
    }
  }

  return {
    /** The greatest `seq` that was on disk when the files were opened; 0 when there was none. */
    lastSeq: lastSeqIn(files, path) ?? lastClosedSeq(),
    /** The smallest `seq` still kept, or null. */
    firstSeq: (): number | null => {
      for (const seq of closed()) return seq;
      return first;
    },
    /**
     * Appends lines, whole and in order, of which the first has `seq`. Throws what the file system throws; then
     * none of them counts as written, and the next append takes away what there is of them.
     */
    append(lines: string, seq: number): void {
      if (wholeSize !== null) cutTo(wholeSize);
      wholeSize = null;
      // Asked for each time: a person may have taken the file away.
      let size = files.stat(path)?.size ?? 0;
      if (size > 0 && size + Buffer.byteLength(lines) > limits.maxBytes) {
        rotate();
        size = 0;
      }
      if (size === 0) first = seq;
      wholeSize = size;
      files.append("file:events", path, lines);
      wholeSize = null;
    },
    /** Events after a position, oldest first, across files. */
    *after(seq: number): Generator<GatewayEvent> {
      const begins = closed();
      for (const [index, begin] of begins.entries()) {
        const next = begins[index + 1] ?? first;
        // All of it lies before the position.
        if (next !== null && next <= seq + 1) continue;
        yield* eventsAfter(files, closedPath(begin), seq);
      }
      yield* eventsAfter(files, path, seq);
    },
    /** Events whose lines contain a text, newest first, across files; what does not contain it costs little. */
    *containing(text: string): Generator<GatewayEvent> {
      yield* eventsWith(files, path, text);
      for (const begin of closed().reverse()) yield* eventsWith(files, closedPath(begin), text);
    },
  };
}

// How one file of events is read: in chunks, by whole lines. A line that is no event is passed over.

const newline = 0x0a;
const firstChunkBytes = 64 * 1024;
const scanChunkBytes = 256 * 1024;
const searchChunkBytes = 1024 * 1024;

/**
 * What a crash left after the last whole line: the offset where it begins and whether it is a whole event
 * that lacks only its end of line. Null when the file ends as it must or is empty or absent.
 */
function findTornTail(files: Files, path: string): { offset: number; wholeEvent: boolean } | null {
  const size = files.stat(path)?.size ?? 0;
  if (size === 0) return null;
  for (let span = firstChunkBytes; ; span *= 4) {
    const start = Math.max(0, size - span);
    const bytes = files.readPart(path, start, size);
    const end = bytes.lastIndexOf(newline);
    if (end === bytes.length - 1) return null;
    if (end < 0 && start > 0) continue;
    const tail = new TextDecoder().decode(bytes.subarray(end + 1));
    return { offset: start + end + 1, wholeEvent: parseJson(GatewayEvent, tail) !== null };
  }
}

/** The `seq` of the first event of a file, or null when it holds none. */
function firstSeqIn(files: Files, path: string): number | null {
  for (const { event } of eventsFrom(files, path, 0)) return event.seq;
  return null;
}

/** The `seq` of the last event of a file, or null when it holds none. */
function lastSeqIn(files: Files, path: string): number | null {
  const size = files.stat(path)?.size ?? 0;
  for (let span = firstChunkBytes; ; span *= 4) {
    const start = Math.max(0, size - span);
    const lines = new TextDecoder().decode(files.readPart(path, start, size)).split("\n");
    // The first may be the rest of a line that began before.
    if (start > 0) lines.shift();
    for (const line of lines.reverse()) {
      const event = parseJson(GatewayEvent, line);
      if (event) return event.seq;
    }
    if (start === 0) return null;
  }
}

/**
 * The events of a file whose lines contain `text`, newest first. What does not is passed over unread: 20 MB
 * take some 10 ms. `text` must be plain ASCII.
 */
function* eventsWith(files: Files, path: string, text: string): Generator<GatewayEvent> {
  let end = files.stat(path)?.size ?? 0;
  for (let span = firstChunkBytes; end > 0; span *= 4) {
    const start = Math.max(0, end - span);
    const part = files.readPart(path, start, end);
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    // Text before the first line end is the rest of a line that begins before.
    const begin = start === 0 ? 0 : bytes.indexOf(newline) + 1;
    if (start > 0 && (begin === 0 || begin === bytes.length)) continue;
    const whole = bytes.subarray(begin);
    for (const line of whole.includes(text) ? whole.toString().split("\n").reverse() : []) {
      const event = line.includes(text) ? parseJson(GatewayEvent, line) : null;
      if (event) yield event;
    }
    end = start + begin;
    span = Math.min(span, searchChunkBytes / 4);
  }
}

/** The events of a file whose `seq` is greater than `afterSeq`, in order. */
function* eventsAfter(files: Files, path: string, afterSeq: number): Generator<GatewayEvent> {
  for (const { event } of eventsFrom(files, path, offsetBefore(files, path, afterSeq))) {
    if (event.seq > afterSeq) yield event;
  }
}

/** The start of a line before which no `seq` is greater than `afterSeq`: `seq` grows along the file. */
function offsetBefore(files: Files, path: string, afterSeq: number): number {
  let known = 0;
  let low = 0;
  let high = files.stat(path)?.size ?? 0;
  while (high - low > scanChunkBytes) {
    const middle = low + Math.floor((high - low) / 2);
    const found = eventsFrom(files, path, middle, true).next().value;
    if (found && found.event.seq <= afterSeq) {
      known = found.offset;
      low = Math.max(middle, found.offset);
    } else {
      high = middle;
    }
  }
  return known;
}

/**
 * Events from a byte offset on; `midLine` when the offset may lie inside a line, whose rest is then left out.
 */
function* eventsFrom(
  files: Files,
  path: string,
  from: number,
  midLine = false,
): Generator<{ event: GatewayEvent; offset: number }> {
  let rest = new Uint8Array();
  let offset = from;
  let skip = midLine;
  for (;;) {
    const at = offset + rest.length;
    const chunk = files.readPart(path, at, at + firstChunkBytes);
    if (chunk.length === 0) return;
    const bytes = new Uint8Array(rest.length + chunk.length);
    bytes.set(rest);
    bytes.set(chunk, rest.length);
    let begin = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, begin)) {
      const event = skip
        ? null
        : parseJson(GatewayEvent, new TextDecoder().decode(bytes.subarray(begin, end)));
      skip = false;
      if (event) yield { event, offset: offset + begin };
      begin = end + 1;
    }
    rest = bytes.slice(begin);
    offset += begin;
  }
}

/**
 * The append-only history of a gateway. Written after the fact (a commit, a key sent), so a crash may lose
 * the line and never the fact. What could not be written is reported, kept, and written with the next event:
 * of 1000 such events none is lost.
 */
export interface EventLog {
  /** `fields` must not hold a whole prompt, a mail body or a token. */
  append(kind: EventKind, fields?: Record<string, unknown>): void;
  /** Called in order, each event only after it is written: a crash never gives a published position again. */
  subscribe(listener: (event: GatewayEvent) => void): () => void;
}

/**
 * Events after a position, oldest first. `firstSeq` and `lastSeq`: what is kept now; 0 when there is nothing.
 */
interface EventPage {
  events: GatewayEvent[];
  firstSeq: number;
  lastSeq: number;
}

export interface StoredEventLog extends EventLog {
  /**
   * At most `limit` events whose `seq` is greater than `afterSeq` (0 for all). When `firstSeq` is greater
   * than `afterSeq + 1`, older ones are no longer kept.
   */
  readEvents(query: { afterSeq: number; limit: number }): EventPage;
  /**
   * The events on disk whose lines contain `text`, plain ASCII, newest first. What does not is passed over
   * unread: 20 MB take some 10 ms.
   */
  storedWith(text: string): Iterable<GatewayEvent>;
  /** Writes what has not been written yet. */
  flush(): void;
}

const maxHeld = 1000;
/** Events in memory, most of a few hundred bytes. */
const maxRecent = 128;
const defaultLimits: EventFileLimits = { maxBytes: 16 * 1024 * 1024, count: 4 };

/**
 * Opens the history at `path` (events.jsonl) and goes on after its last event. Events of one turn of the
 * event loop share one write: with a write for each, 64 callers of the queue get 15 to 20 % less (decision
 * 143).
 */
export function createEventLog(deps: {
  files: Files;
  clock: Clock;
  path: string;
  onError: (error: unknown) => void;
  limits?: EventFileLimits;
}): StoredEventLog {
  const { files, path, onError, limits = defaultLimits } = deps;
  const timestamp = createTimestamps(deps.clock);
  const listeners = new Set<(event: GatewayEvent) => void>();
  const stored = openEventFiles({ files, path, limits });
  let seq = stored.lastSeq;
  /** Not on disk, oldest first; listeners know all but the last `untold`. */
  let unwritten: GatewayEvent[] = [];
  let untold = 0;
  /** The newest, without a gap: who follows the history reads no file for each event. */
  let recent: { seq: number; line: string }[] = [];

  function keep(lines: typeof recent): void {
    const isNext = recent.at(-1)?.seq === (lines[0]?.seq ?? 0) - 1;
    recent = [...(isNext ? recent : []), ...lines].slice(-maxRecent);
  }

  /** Null where older ones are asked for than are kept in memory. */
  function recentAfter(afterSeq: number, limit: number): GatewayEvent[] | null {
    const from = recent[0]?.seq;
    if (from === undefined || afterSeq < from - 1 || recent.at(-1)?.seq !== seq) return null;
    const wanted = recent.slice(afterSeq + 1 - from).slice(0, limit);
    return wanted.map(({ line }) => JSON.parse(line) as GatewayEvent);
  }

  function flush(): void {
    const [first] = unwritten;
    if (!first) return;
    const fresh = unwritten.slice(unwritten.length - untold);
    untold = 0;
    attempt(() => {
      const lines = unwritten.map((event) => ({
        seq: event.seq,
        line: `${JSON.stringify(sortKeys(event))}\n`,
      }));
      keep(lines.slice(lines.length - fresh.length));
      stored.append(lines.map(({ line }) => line).join(""), first.seq);
      unwritten = [];
    });
    unwritten = unwritten.slice(-maxHeld);
    for (const event of fresh) for (const listener of listeners) attempt(() => listener(event));
  }

  function attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      onError(error);
    }
  }

  return {
    append(kind, fields = {}) {
      seq += 1;
      const event: GatewayEvent = { ...fields, seq, kind, at_utc: timestamp() };
      unwritten.push(event);
      untold += 1;
      if (untold === 1) afterThisTurn(flush);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readEvents({ afterSeq, limit }) {
      flush();
      const firstSeq = stored.firstSeq() ?? 0;
      const known = afterSeq + 1 < firstSeq ? null : recentAfter(afterSeq, limit);
      const events = known ?? [];
      if (limit > 0 && known === null) {
        // A write that failed may have left whole lines of what is held.
        const heldFrom = unwritten[0]?.seq ?? Number.POSITIVE_INFINITY;
        for (const event of stored.after(afterSeq)) {
          if (event.seq >= heldFrom || events.push(event) >= limit) break;
        }
        const held = unwritten.filter((event) => event.seq > afterSeq);
        events.push(...held.slice(0, limit - events.length));
      }
      return { events, firstSeq, lastSeq: seq };
    },
    storedWith: (text) => stored.containing(text),
    flush,
  };
}

function sortKeys(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const key of Object.keys(record).sort()) sorted[key] = record[key];
  return sorted;
}
