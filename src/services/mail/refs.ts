import { ServiceError } from "../../system/errors.ts";

/** References to messages and threads. Source: spec/mailbox-agui.md A1, A3. Pure. */

const prefix = "filesystem:";

export function toRef(id: string): string {
  return `${prefix}${id}`;
}

/** The id in a reference of this transport; a bare id is one too. Throws `invalid_request` for another transport's. */
export function idOf(ref: string): string {
  if (ref.startsWith(prefix)) return ref.slice(prefix.length);
  if (!ref.includes(":")) return ref;
  throw new ServiceError("invalid_request", `a message reference of this mailbox begins with ${prefix}`);
}

/** `stamp`: YYYYMMDDTHHMMSSZ; `hex`: 32 hexadecimal characters. */
export function messageId(stamp: string, hex: string): string {
  return `msg-${stamp}-${hex}`;
}

export function isMessageId(text: string): boolean {
  return /^msg-\d{8}T\d{6}Z-[0-9a-f]{32}$/.test(text);
}
