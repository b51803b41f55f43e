import { maxPartBytes } from "../../../protocol/hosts.ts";
import { jsonValue } from "../../../protocol/json.ts";
import { messageOverheadBytes } from "./message.ts";

/**
 * Messages as lines of JSON, for a way that is one stream of bytes. A body is base64 in its line: 8 MiB are
 * 11 MiB there, and a person can read what is sent.
 */

export const maxLineBodyBytes = 8 * 1024 * 1024;
/** The longest line with a body of so many bytes and a head. Pure. */
function lineBytes(bodyBytes: number): number {
  return Math.ceil(bodyBytes / 3) * 4 + messageOverheadBytes;
}
/** Of an operator, with the body of a call; and of a host, with a part of an answer or an entry. */
export const maxCallLineBytes = lineBytes(maxLineBodyBytes);
export const maxAnswerLineBytes = lineBytes(maxPartBytes);
const lineFeed = 10;

/** Pure. */
export function encodeLine(line: object): string {
  return `${JSON.stringify(line)}\n`;
}

/** A line with head and body of one message. Pure. */
export function encodeMessageLine(head: object, body: Uint8Array | null): string {
  const bytes =
    body === null || body.length === 0 ? null : Buffer.from(body.buffer, body.byteOffset, body.length);
  return encodeLine({ kind: "message", head, ...(bytes ? { body: bytes.toString("base64") } : {}) });
}

/** Null for what is no base64. Pure. */
export function decodeLineBody(body: string | undefined): Uint8Array | null {
  if (body === undefined) return new Uint8Array(0);
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(body) || body.length % 4 !== 0) return null;
  return new Uint8Array(Buffer.from(body, "base64"));
}

/**
 * `onLine` gets what the line holds as JSON, undefined for what is none. `maxBytes`: of a line; counted as
 * they arrive.
 */
export function createLineReader(onLine: (value: unknown) => void, { maxBytes }: { maxBytes: number }) {
  let parts: Uint8Array[] = [];
  let size = 0;
  let over = false;
  return {
    /**
     * Calls `onLine` for each line that these bytes end. False when a line is too long: nothing more is read.
     */
    push(bytes: Uint8Array): boolean {
      let from = 0;
      for (let at = bytes.indexOf(lineFeed); at >= 0 && !over; at = bytes.indexOf(lineFeed, from)) {
        over = size + at - from > maxBytes;
        if (over) break;
        const line =
          parts.length === 0 ? bytes.subarray(from, at) : Buffer.concat([...parts, bytes.subarray(from, at)]);
        parts = [];
        size = 0;
        from = at + 1;
        onLine(jsonValue(line));
      }
      const rest = bytes.subarray(from);
      over ||= size + rest.length > maxBytes;
      if (over) {
        parts = [];
        return false;
      }
      // A copy: the reader's buffer may be used again.
      if (rest.length > 0) parts.push(rest.slice());
      size += rest.length;
      return true;
    },
  };
}
