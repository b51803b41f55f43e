import { closeSync, lstatSync, openSync, statfsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { ServiceError } from "./errors.ts";

/**
 * An empty file at `path` with mode 0600 from the first moment, for what opens files by itself, such as SQLite,
 * which gives the files beside it the same mode. An existing file is left unopened: closing any handle on it
 * would drop a POSIX lock that this process holds.
 */
export function createPrivately(path: string): void {
  refuseLinkedDatabase(path);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/**
 * Throws `precondition_failed` where a database file, or a file that SQLite opens beside it, is a link, a pipe or a
 * folder: SQLite follows links, and would write into what they lead to.
 */
export function refuseLinkedDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) {
    const found = lstatSync(path + suffix, { throwIfNoEntry: false });
    if (!found || found.isFile()) continue;
    throw new ServiceError(
      "precondition_failed",
      `${basename(path)}${suffix} is no regular file, such as a symbolic link; remove it and try again`,
      { data: { file: "not_regular" } },
    );
  }
}

/** Equal as long as the same file is at `path`; null when none does. */
export function fileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** The file at `path` as its name shows without opening it; null when there is none. */
export function fileShape(path: string): { size: number; modifiedMs: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { size: found.size, modifiedMs: found.mtimeMs } : null;
}

/** What this user may still write on the disk of `path`, in bytes. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
