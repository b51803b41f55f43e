import { jsonValue } from "../../../protocol/json.ts";

/** A message between hosts: one JSON object on the first line, then the bytes of a body. */
interface HostMessage {
  head: unknown;
  body: Uint8Array;
}

/** A head is small: identities, parameters and headers. */
const maxHeadBytes = 64 * 1024;
/** What a bus must carry beyond the largest body. */
export const messageOverheadBytes = 64 * 1024;
const lineFeed = 10;
const nothing = new Uint8Array(0);

/** Pure. */
export function encodeMessage(head: object, body: Uint8Array | null = null): Uint8Array {
  const line = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
  if (body === null || body.length === 0) return line;
  const bytes = new Uint8Array(line.length + body.length);
  bytes.set(line);
  bytes.set(body, line.length);
  return bytes;
}

/** Null for what is no message. Pure. */
export function decodeMessage(bytes: Uint8Array): HostMessage | null {
  const end = bytes.subarray(0, maxHeadBytes).indexOf(lineFeed);
  const head = jsonValue(end < 0 ? bytes.subarray(0, maxHeadBytes) : bytes.subarray(0, end));
  if (head === null || typeof head !== "object") return null;
  return { head, body: end < 0 ? nothing : bytes.subarray(end + 1) };
}
