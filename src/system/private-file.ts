import { closeSync, openSync } from "node:fs";

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
