import type { Position, Selection } from "../../db/mailbox/state.ts";
import { parseTimestamp, toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { FlagChange, MailQuery } from "./mailbox.ts";

/** The state of a message in a mailbox. Source: contract 3.4; spec/mailbox-agui.md A6. Pure. */
export interface ViewState {
  box: string;
  read: boolean;
  answered: boolean;
}

export const inbox = "inbox";
export const sent = "sent";
export const archive = "archive";
/** Every mailbox has a folder of each. */
export const standardBoxes = [inbox, sent, archive, "drafts"] as const;

const maxBoxBytes = 200;

export const isArchived = (box: string) => box === archive;

/**
 * A name of ASCII may be as long as its folder's; of any other character at most so many, of up to four bytes
 * each.
 */
const maxBoxCharacters = 50;

/** The name of a box without the space around it. Throws `invalid_request` for what cannot be one. */
export function parseBox(text: string): string {
  const box = text.trim();
  const short = /^[\x00-\x7f]*$/.test(box) || [...box].length <= maxBoxCharacters;
  if (!short || !isBox(box)) throw new ServiceError("invalid_request", "not the name of a box");
  return box;
}

/** Whether a box may have this name, which is a folder's too. */
export function isBox(name: string): boolean {
  return (
    name !== "" &&
    name !== "." &&
    name !== ".." &&
    !/[/\\\x00-\x1f\x7f-\x9f]/.test(name) &&
    new TextEncoder().encode(name).length <= maxBoxBytes &&
    // Files of the mailbox itself.
    !name.startsWith("mailbox.sqlite")
  );
}

/**
 * `home`: the box to which a message returns from the archive. Throws `invalid_request` for what excludes
 * itself.
 */
export function planMark(state: ViewState, change: FlagChange, home: string): ViewState {
  const { read, answered, archived } = change;
  if (read === undefined && answered === undefined && archived === undefined) {
    throw new ServiceError("invalid_request", "mark needs at least one of read, answered, archived");
  }
  const box = archived === true ? archive : archived === false && isArchived(state.box) ? home : state.box;
  if (isArchived(box) && read === false) {
    throw new ServiceError("invalid_request", "an archived message is read: archived excludes read=false");
  }
  return {
    box,
    read: archived === true ? true : (read ?? state.read),
    answered: answered ?? state.answered,
  };
}

/** What lies in the archive is read. */
export function planMove(state: ViewState, box: string): ViewState {
  return { ...state, box, read: state.read || isArchived(box) };
}

/**
 * The selection that a query means, or null when nothing can meet it. Throws `invalid_request` for a time or
 * cursor that is none. Source: spec/mailbox-agui.md A9. Pure.
 */
export function planList(query: MailQuery): Selection | null {
  const after = query.cursor === null ? null : parseCursor(query.cursor);
  const sinceMs = query.since === null ? null : parseTimestamp(query.since);
  if (sinceMs === null && query.since !== null) {
    throw new ServiceError("invalid_request", "since is not an RFC 3339 time");
  }
  if (query.limit !== null && !(Number.isInteger(query.limit) && query.limit > 0)) {
    throw new ServiceError("invalid_request", "limit is not a positive whole number");
  }
  const words = query.query === null ? null : wordsOf(query.query);
  // What is archived lies in the archive, and nothing else does.
  if (query.archived !== null && query.archived !== isArchived(query.box)) return null;
  if (words?.length === 0) return null;
  return {
    box: query.box,
    read: query.readState === "any" ? null : query.readState === "read",
    answered: query.answeredState === "any" ? null : query.answeredState === "answered",
    sinceUtc: sinceMs === null ? null : storedTime(sinceMs),
    words,
    after,
    // One more is asked for, and the database counts in whole numbers.
    limit: query.limit === null ? null : Math.min(query.limit, Number.MAX_SAFE_INTEGER - 1),
  };
}

/** Characters of JSON that one answer holds of messages, beyond its first one. */
const answerChars = 8 * 2 ** 20;

/** Counts what goes into one answer (security.md 8). */
export function createAnswerBudget(maxChars = answerChars) {
  let left = maxChars;
  const takes = (chars: number) => {
    // After the first that has no place nothing more is taken.
    left = chars > left ? -1 : left - chars;
    return left >= 0;
  };
  return {
    /** Whether `chars` more fit; they then count. Once something did not fit nothing does. */
    takes /** The same of a text as JSON writes it. */,
    takesText: (text: string): boolean => takes(text.length > left ? text.length : jsonLength(text)),
  };
}

/** Characters of a text as JSON writes it, without writing it. */
export function jsonLength(text: string): number {
  let length = text.length + 2;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20) length += 5;
    else if (code === 0x22 || code === 0x5c) length += 1;
  }
  return length;
}

/** Milliseconds since the epoch as mail is stamped: such texts sort as their times do. */
export function storedTime(epochMs: number): string {
  return toTimestamp(epochMs).replace("+00:00", "Z");
}

export function toCursor(position: Position): string {
  return Buffer.from(`${position.createdAtUtc} ${position.messageId}`).toString("base64url");
}

function parseCursor(cursor: string): Position {
  const [createdAtUtc = "", messageId, ...more] = Buffer.from(cursor, "base64url").toString().split(" ");
  if (messageId === undefined || more.length > 0 || parseTimestamp(createdAtUtc) === null) {
    throw new ServiceError("invalid_request", "cursor is not the next_cursor of a list");
  }
  return { createdAtUtc, messageId };
}

/** At most 32 words of the first 16,384 characters; what holds no letter and no digit is no word. */
function wordsOf(text: string): string[] {
  return text
    .slice(0, 16_384)
    .replaceAll("\0", " ")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, 32);
}
