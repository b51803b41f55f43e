import { Database } from "bun:sqlite";

/** A lock that the operating system takes back when its owner dies, however it dies. */
export interface Lock {
  release(): void;
}

/**
 * Takes the lock that the file at `path` stands for (created when absent, never removed), or returns null when
 * another owner, in this process or another, holds it. Waits at most `waitMs`.
 */
export function tryLock(path: string, waitMs = 0): Lock | null {
  const database = new Database(path, { create: true, readwrite: true });
  try {
    database.run(`PRAGMA busy_timeout=${waitMs}`);
    database.run("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code?.startsWith("SQLITE_BUSY")) return null;
    throw error;
  }
}
