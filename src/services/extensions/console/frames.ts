import { Value } from "@sinclair/typebox/value";
import { TerminalMessage } from "../../../protocol/console.ts";

/** One part of the live terminal, in order. */
export type TerminalFrame =
  | { kind: "message"; message: TerminalMessage }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "heartbeat" };

const kinds = { heartbeat: 0, message: 1, bytes: 2 } as const;
const headBytes = 5;
/** Of one frame that we read: a whole picture and what may wait with it are far smaller. */
const maxFrameBytes = 16 * 1024 * 1024;

/** As it goes over the wire between a gateway and a coordinator. Pure. */
export function encodeFrame(frame: TerminalFrame): Uint8Array {
  const content =
    frame.kind === "bytes"
      ? frame.bytes
      : new TextEncoder().encode(frame.kind === "message" ? JSON.stringify(frame.message) : "");
  const encoded = new Uint8Array(headBytes + content.length);
  const view = new DataView(encoded.buffer);
  view.setUint8(0, kinds[frame.kind]);
  view.setUint32(1, content.length);
  encoded.set(content, headBytes);
  return encoded;
}

/** Splits a stream of frames. Throws when it is none. */
export function createFrameReader(): { push(chunk: Uint8Array): TerminalFrame[] } {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let wanted = headBytes;

  return {
    push(chunk) {
      const frames: TerminalFrame[] = [];
      held.push(chunk);
      heldBytes += chunk.length;
      while (heldBytes >= wanted) {
        const all = held.length === 1 && held[0] ? held[0] : join(held, heldBytes);
        const size = new DataView(all.buffer, all.byteOffset).getUint32(1);
        if (size > maxFrameBytes) throw new Error(`a frame of ${size} bytes`);
        held = [all];
        wanted = headBytes + size;
        if (heldBytes < wanted) break;
        const frame = decode(all[0] ?? 0, all.subarray(headBytes, wanted));
        if (frame) frames.push(frame);
        const rest = all.subarray(wanted);
        held = rest.length > 0 ? [rest] : [];
        heldBytes = rest.length;
        wanted = headBytes;
      }
      return frames;
    },
  };
}

function join(parts: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A later gateway may send kinds that we do not know. */
function decode(kind: number, content: Uint8Array): TerminalFrame | null {
  if (kind === kinds.heartbeat) return { kind: "heartbeat" };
  if (kind === kinds.bytes) return { kind: "bytes", bytes: content };
  if (kind !== kinds.message) return null;
  const message: unknown = JSON.parse(new TextDecoder().decode(content));
  return Value.Check(TerminalMessage, message) ? { kind: "message", message } : null;
}
