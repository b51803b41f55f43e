import { messageOf } from "./errors.ts";

/** Why a file cannot be used, from the error of SQLite or the operating system. */
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

/** A clause for people about each fault, with a remedy if there is one. */
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
 * SQLite has one code for every invalid statement. Our statements are valid, so these messages mean that the
 * file was altered.
 */
const alteredFile =
  /^no such (?:table|column|index|view)\b|\bhas no column named\b|^ON CONFLICT clause does not match/;

/**
 * System calls that only read. `open` may be for reading or writing; `failedToRead` marks the former.
 */
const readingCalls = /^(?:read|scandir|readlink|realpath|l?stat|fstat|access)$/;

/** The storage fault that an error reports, with its code; null for other errors. Pure. */
export function storageFaultOf(error: unknown): { fault: StorageFault; code: string } | null {
  const { code, syscall, opened } = (error ?? {}) as Record<"code" | "syscall" | "opened", unknown>;
  // The same codes occur for addresses and processes.
  if (typeof code !== "string" || /^(?:kill|listen|bind|connect)$/.test(String(syscall))) return null;
  // `mkdir` accepts an existing folder, so another kind of file is in its place.
  const isFileInPlace = code === "EEXIST" && syscall === "mkdir";
  const altered = code === "SQLITE_ERROR" && alteredFile.test(messageOf(error));
  const known = kinds.find(([pattern]) => pattern.test(code))?.[1];
  const fault = altered ? "damaged" : isFileInPlace ? "file" : known;
  if (fault === undefined) return null;
  const toRead = opened === "to read" || readingCalls.test(String(syscall));
  return { fault: fault === "forbidden" && toRead ? "unreadable" : fault, code };
}

/**
 * Marks `error` as a failure to open a file for reading, which the error of the system does not say.
 */
export function failedToRead(error: unknown): unknown {
  return error instanceof Error ? Object.assign(error, { opened: "to read" }) : error;
}

/** Adds the file name to `error`, since SQLite does not report it. An existing name stays. */
export function ofFile(error: unknown, name: string): unknown {
  const named = storageFaultOf(error) === null || fileOf(error) !== undefined;
  return named ? error : Object.assign(error as Error, { file: name });
}

function fileOf(error: unknown): string | undefined {
  const { file } = (error ?? {}) as { file?: unknown };
  return typeof file === "string" ? file : undefined;
}

/**
 * Describes a storage fault in one sentence for callers, without a path or content; null for other errors.
 * Pure.
 */
export function tellStorageFault(error: unknown, what?: string): string | null {
  const found = storageFaultOf(error);
  const name = what ?? fileOf(error) ?? "a file of svc";
  return found && `${name} cannot be used: ${storageAdvice[found.fault]} (${found.code})`;
}

/**
 * Describes `error` on one line of this user's log: a storage fault with its path, another error unchanged.
 * Pure.
 */
export function faultLine(error: unknown): string {
  const { path } = (error ?? {}) as { path?: unknown };
  return tellStorageFault(error, typeof path === "string" ? path : undefined) ?? messageOf(error);
}
