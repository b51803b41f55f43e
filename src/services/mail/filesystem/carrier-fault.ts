import { ServiceError } from "../../../system/errors.ts";

const whys: readonly (readonly [RegExp, string])[] = [
  [
    /^SQLITE_CANTOPEN/,
    "a database of it is missing or may not be opened; svc-mgr mailbox status says more, svc-mgr mailbox repair makes a lost one anew",
  ],
  [/^SQLITE_(NOTADB|CORRUPT)/, "a database of it is damaged; svc-mgr mailbox repair makes it anew"],
  [/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/, "the disk is full; make room and try again"],
  [/^(SQLITE_READONLY|SQLITE_PERM|EROFS|EACCES|EPERM)/, "it may not be written by this user"],
  [/^SQLITE_(BUSY|LOCKED)/, "another process keeps it busy; try again"],
];

/**
 * What SQLite or the file system complains about is the carrier's, with a word on what to do; anything else
 * unexpected is a fault of ours and comes back as it is. Pure.
 */
export function toServiceError(error: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  if (error instanceof ServiceError || typeof code !== "string" || !/^(SQLITE_|E[A-Z0-9]+$)/.test(code)) {
    return error;
  }
  const why = whys.find(([pattern]) => pattern.test(code))?.[1];
  const told = why === undefined ? `cannot be used (${code})` : `cannot be used: ${why} (${code})`;
  return new ServiceError("transport_failed", `the mailbox ${told}`, { cause: error });
}
