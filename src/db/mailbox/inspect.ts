import { Database } from "bun:sqlite";

/** What a database file turned out to be; `broken` also where it is no database at all. */
export type FileVerdict = { kind: "sound" } | { kind: "broken"; why: string };

/** Reads all of an existing database file and changes nothing. Never throws. */
export function inspectDatabase(path: string): FileVerdict {
  try {
    // Writable, because a file that was not closed in peace needs its log played back before it can be read.
    const database = new Database(path, { readwrite: true, create: false });
    try {
      database.run("PRAGMA busy_timeout=5000");
      const rows = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").all();
      const found = rows[0]?.quick_check ?? "no answer";
      return found === "ok" ? { kind: "sound" } : { kind: "broken", why: found };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * The rows of a table that can still be read from a file that may be broken, as objects by column name, in the order
 * of rowid; what cannot be read is left out. Never throws.
 */
export function salvageRows(path: string, table: "message_state" | "registrations" | "seeded"): unknown[] {
  const rows: unknown[] = [];
  try {
    const database = new Database(path, { readwrite: true, create: false });
    try {
      for (const row of database.query(`SELECT * FROM ${table} NOT INDEXED`).iterate()) rows.push(row);
    } finally {
      database.close();
    }
  } catch {
    // What was read until then is what there is.
  }
  return rows;
}
