import { Value } from "@sinclair/typebox/value";
import { GatewayEvent } from "../../protocol/events.ts";
import type { Files } from "../../system/files.ts";

// How one file of events is read: in chunks, by whole lines. A line that is no event is passed over.

const newline = 0x0a;
const firstChunkBytes = 64 * 1024;
const scanChunkBytes = 256 * 1024;
const searchChunkBytes = 1024 * 1024;

/** The event on a line, or null when the line holds none. */
function parseEvent(line: string): GatewayEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    return Value.Check(GatewayEvent, value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * What a crash left after the last whole line: the offset where it begins and whether it is a whole event that
 * lacks only its end of line. Null when the file ends as it must or is empty or absent.
 */
export function findTornTail(files: Files, path: string): { offset: number; wholeEvent: boolean } | null {
  const size = files.stat(path)?.size ?? 0;
  if (size === 0) return null;
  for (let span = firstChunkBytes; ; span *= 4) {
    const start = Math.max(0, size - span);
    const bytes = files.readPart(path, start, size);
    const end = bytes.lastIndexOf(newline);
    if (end === bytes.length - 1) return null;
    if (end < 0 && start > 0) continue;
    const tail = new TextDecoder().decode(bytes.subarray(end + 1));
    return { offset: start + end + 1, wholeEvent: parseEvent(tail) !== null };
  }
}

/** The `seq` of the first event of a file, or null when it holds none. */
export function firstSeqIn(files: Files, path: string): number | null {
  for (const { event } of eventsFrom(files, path, 0)) return event.seq;
  return null;
}

/** The `seq` of the last event of a file, or null when it holds none. */
export function lastSeqIn(files: Files, path: string): number | null {
  const size = files.stat(path)?.size ?? 0;
  for (let span = firstChunkBytes; ; span *= 4) {
    const start = Math.max(0, size - span);
    const lines = new TextDecoder().decode(files.readPart(path, start, size)).split("\n");
    // The first may be the rest of a line that began before.
    if (start > 0) lines.shift();
    for (const line of lines.reverse()) {
      const event = parseEvent(line);
      if (event) return event.seq;
    }
    if (start === 0) return null;
  }
}

/**
 * The events of a file whose lines contain `text`, newest first. What does not is passed over unread: 20 MB take some
 * 10 ms. `text` must be plain ASCII.
 */
export function* eventsWith(files: Files, path: string, text: string): Generator<GatewayEvent> {
  let end = files.stat(path)?.size ?? 0;
  for (let span = firstChunkBytes; end > 0; span *= 4) {
    const start = Math.max(0, end - span);
    const part = files.readPart(path, start, end);
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    // What stands before the first end of a line is the rest of one that begins before.
    const begin = start === 0 ? 0 : bytes.indexOf(newline) + 1;
    if (start > 0 && (begin === 0 || begin === bytes.length)) continue;
    const whole = bytes.subarray(begin);
    for (const line of whole.includes(text) ? whole.toString().split("\n").reverse() : []) {
      const event = line.includes(text) ? parseEvent(line) : null;
      if (event) yield event;
    }
    end = start + begin;
    span = Math.min(span, searchChunkBytes / 4);
  }
}

/** The events of a file whose `seq` is greater than `afterSeq`, in order. */
export function* eventsAfter(files: Files, path: string, afterSeq: number): Generator<GatewayEvent> {
  for (const { event } of eventsFrom(files, path, offsetBefore(files, path, afterSeq))) {
    if (event.seq > afterSeq) yield event;
  }
}

/** The beginning of a line before which nothing greater than `afterSeq` stands: `seq` grows along the file. */
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

/** Events from a byte offset on; `midLine` when the offset may lie inside a line, whose rest is then left out. */
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
      const event = skip ? null : parseEvent(new TextDecoder().decode(bytes.subarray(begin, end)));
      skip = false;
      if (event) yield { event, offset: offset + begin };
      begin = end + 1;
    }
    rest = bytes.slice(begin);
    offset += begin;
  }
}
