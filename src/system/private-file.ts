import { closeSync, openSync, statfsSync, statSync } from "node:fs";

/**
 * An empty file at `path` with mode 0600 from the first moment, for what opens files by itself, such as SQLite,
 * which gives the files beside it the same mode. An existing file is left unopened: closing any handle on it
 * would drop a POSIX lock that this process holds.
 */
export function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/** Equal as long as the same file stands at `path`; null when none does. */
export function fileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** The file at `path` as far as its name tells without opening it; null when there is none. */
export function fileShape(path: string): { size: number; modifiedMs: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { size: found.size, modifiedMs: found.mtimeMs } : null;
}

/** What this user may still write on the disk of `path`, in bytes. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
