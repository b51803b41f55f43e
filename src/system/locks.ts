import { Database } from "bun:sqlite";
import { truncateSync } from "node:fs";
import { type Clock, sleep } from "./clock.ts";
import { createPrivately } from "./own-file.ts";

/**
 * Mutual exclusion between processes. The operating system holds the lock: it ends with its owner, also on
 * SIGKILL. The lock file stays and never needs to be removed.
 */
export interface Locks {
  /**
   * Runs `work` while holding the lock at `path` (its folder must exist) and returns its result. Waits up to
   * `timeoutMs` (default 5000) for another holder, here or in another process; then rejects. Not re-entrant.
   */
  hold<T>(path: string, work: () => T | Promise<T>, options?: { timeoutMs?: number }): Promise<T>;
  /** Takes the lock until `release` or the end of this process; null when another holds it. Does not wait. */
  tryTake(path: string): { release(): void } | null;
}

const retryMs = 10;

/** Uses SQLite's file lock on an empty database, the same on Linux, macOS and musl, without foreign calls. */
export function createLocks(deps: { clock: Clock }): Locks {
  const { clock } = deps;
  return {
    async hold(path, work, options = {}) {
      const deadlineMs = clock.monotonicMs() + (options.timeoutMs ?? 5000);
      createPrivately(path);
      const database = new Database(path, { readwrite: true });
      try {
        database.run("PRAGMA busy_timeout = 0");
        while (!tryBegin(database, path)) {
          if (clock.monotonicMs() >= deadlineMs) throw new Error(`timed out waiting for the lock ${path}`);
          await sleep(clock, retryMs);
        }
        return await work();
      } finally {
        // Closing ends the transaction and with it the lock.
        database.close();
      }
    },
    tryTake(path) {
      createPrivately(path);
      const database = new Database(path, { readwrite: true });
      let taken = false;
      try {
        database.run("PRAGMA busy_timeout = 0");
        taken = tryBegin(database, path);
      } finally {
        if (!taken) database.close();
      }
      return taken ? { release: () => database.close() } : null;
    },
  };
}

/**
 * Takes the lock. A damaged file is emptied, since it holds no data. No process holds the lock then: SQLite
 * reports a holder before it reads the file.
 */
function tryBegin(database: Database, path: string): boolean {
  try {
    return begin(database);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    truncateSync(path);
    return begin(database);
  }
}

function begin(database: Database): boolean {
  try {
    database.run("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "SQLITE_BUSY") return false;
    throw error;
  }
}

const isDamaged = (error: unknown) =>
  /^SQLITE_(?:NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? "");

/**
 * Runs tasks one after another in the order asked. A task that throws rejects its own caller only.
 */
interface Exclusive {
  run<T>(task: () => Promise<T>): Promise<T>;
  /** True while a task runs or waits. */
  busy(): boolean;
}

export function createExclusive(): Exclusive {
  let tail: Promise<unknown> = Promise.resolve();
  let open = 0;
  return {
    run(task) {
      open += 1;
      const result = tail.then(task, task).finally(() => {
        open -= 1;
      });
      tail = result.catch(() => {});
      return result;
    },
    busy: () => open > 0,
  };
}
