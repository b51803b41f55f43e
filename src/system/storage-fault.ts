import { messageOf } from "./errors.ts";

/** Why files cannot be used, as SQLite or the operating system reports it. */
export type StorageFault =
  | "full"
  | "forbidden"
  | "unreadable"
  | "damaged"
  | "missing"
  | "busy"
  | "descriptors"
  | "folder"
  | "file"
  | "link"
  | "broken";

const kinds: readonly (readonly [RegExp, StorageFault])[] = [
  [/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|SQLITE_PERM|EROFS|EACCES|EPERM)/, "forbidden"],
  [/^SQLITE_(NOTADB|CORRUPT)/, "damaged"],
  [/^SQLITE_CANTOPEN/, "missing"],
  [/^SQLITE_(BUSY|LOCKED)/, "busy"],
  [/^(EMFILE|ENFILE)/, "descriptors"],
  [/^EISDIR/, "folder"],
  [/^ENOTDIR/, "file"],
  [/^ELOOP/, "link"],
  [/^(SQLITE_IOERR|EIO)/, "broken"],
];

/** What people can do about each, as a clause. */
export const storageAdvice: Record<StorageFault, string> = {
  full: "the disk is full; make room and try again",
  forbidden: "it may not be written by this user, or its disk is read-only",
  unreadable: "it may not be read by this user",
  damaged: "it is damaged",
  missing: "it is missing or may not be opened",
  busy: "another process keeps it busy; try again",
  descriptors: "this process has too many files open; close connections or raise `ulimit -n`",
  folder: "a folder is where it belongs; doctor names it",
  file: "a file is where a folder of it belongs; move the file away",
  link: "a symbolic link is there that may not be followed or leads to itself; remove the link",
  broken: "the disk failed to read or write it",
};

/**
 * SQLite has one code for all that a statement asks for in vain. Ours are right for a file that nobody
 * altered.
 */
const alteredFile =
  /^no such (?:table|column|index|view)\b|\bhas no column named\b|^ON CONFLICT clause does not match/;

/**
 * System calls that change nothing. `open` may be for either: who opened to read says so (`failedToRead`).
 */
const readingCalls = /^(?:read|scandir|readlink|realpath|l?stat|fstat|access)$/;

/** The fault of files that an error reports, with its code; null for anything else. Pure. */
export function storageFaultOf(error: unknown): { fault: StorageFault; code: string } | null {
  const { code, syscall, opened } = (error ?? {}) as Record<"code" | "syscall" | "opened", unknown>;
  // The same codes occur for addresses and processes.
  if (typeof code !== "string" || /^(?:kill|listen|bind|connect)$/.test(String(syscall))) return null;
  // A folder that is there already is no failure: something else is in its place.
  const inTheWay = code === "EEXIST" && syscall === "mkdir";
  const altered = code === "SQLITE_ERROR" && alteredFile.test(messageOf(error));
  const known = kinds.find(([pattern]) => pattern.test(code))?.[1];
  const fault = altered ? "damaged" : inTheWay ? "file" : known;
  if (fault === undefined) return null;
  const toRead = opened === "to read" || readingCalls.test(String(syscall));
  return { fault: fault === "forbidden" && toRead ? "unreadable" : fault, code };
}

/**
 * `error`, which came of opening a file to read it: the system reports that it was opened, and not what for.
 */
export function failedToRead(error: unknown): unknown {
  return error instanceof Error ? Object.assign(error, { opened: "to read" }) : error;
}

/** `error`, which came of using the file `name`: SQLite does not say which one. The first name stays. */
export function ofFile(error: unknown, name: string): unknown {
  const named = storageFaultOf(error) === null || fileOf(error) !== undefined;
  return named ? error : Object.assign(error as Error, { file: name });
}

function fileOf(error: unknown): string | undefined {
  const { file } = (error ?? {}) as { file?: unknown };
  return typeof file === "string" ? file : undefined;
}

/**
 * One sentence for callers: no path and nothing of what was to be written. Null for any other error. Pure.
 */
export function tellStorageFault(error: unknown, what?: string): string | null {
  const found = storageFaultOf(error);
  const name = what ?? fileOf(error) ?? "a file of svc";
  return found && `${name} cannot be used: ${storageAdvice[found.fault]} (${found.code})`;
}

/**
 * `error` on one line of a log that is this user's own: a fault of files with its path, any other as it is.
 * Pure.
 */
export function faultLine(error: unknown): string {
  const { path } = (error ?? {}) as { path?: unknown };
  return tellStorageFault(error, typeof path === "string" ? path : undefined) ?? messageOf(error);
}
