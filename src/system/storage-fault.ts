/** Why files cannot be used, as SQLite or the operating system tells it. */
export type StorageFault = "full" | "forbidden" | "damaged" | "missing" | "busy" | "descriptors" | "broken";

const kinds: readonly (readonly [RegExp, StorageFault])[] = [
  [/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|SQLITE_PERM|EROFS|EACCES|EPERM)/, "forbidden"],
  [/^SQLITE_(NOTADB|CORRUPT)/, "damaged"],
  [/^SQLITE_CANTOPEN/, "missing"],
  [/^SQLITE_(BUSY|LOCKED)/, "busy"],
  [/^(EMFILE|ENFILE)/, "descriptors"],
  [/^(SQLITE_IOERR|EIO)/, "broken"],
];

/** What people can do about each, as a clause. */
export const storageAdvice: Record<StorageFault, string> = {
  full: "the disk is full; make room and try again",
  forbidden: "it may not be written by this user, or its disk is read-only",
  damaged: "it is damaged",
  missing: "it is missing or may not be opened",
  busy: "another process keeps it busy; try again",
  descriptors: "this process has too many files open; close connections or raise `ulimit -n`",
  broken: "the disk failed to read or write it",
};

/** The fault of files that an error tells, with its code; null for anything else. Pure. */
export function storageFaultOf(error: unknown): { fault: StorageFault; code: string } | null {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  // The same codes tell of addresses and processes.
  if (typeof code !== "string" || /^(?:kill|listen|bind|connect)$/.test(String(syscall))) return null;
  const fault = kinds.find(([pattern]) => pattern.test(code))?.[1];
  return fault === undefined ? null : { fault, code };
}

/** One sentence for callers: no path and nothing of what was to be written. Null for any other error. Pure. */
export function tellStorageFault(error: unknown, what = "a file of svc"): string | null {
  const found = storageFaultOf(error);
  return found && `${what} cannot be used: ${storageAdvice[found.fault]} (${found.code})`;
}
