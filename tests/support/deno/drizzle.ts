import { SQLiteBunSession } from "drizzle-orm/bun-sqlite/session";
import { BaseSQLiteDatabase, SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import type { Database } from "./bun-sqlite.ts";

/**
 * The driver that the stores use, without its own import of `bun:sqlite`: a package's imports cannot be
 * mapped.
 */
export function drizzle({ client }: { client: Database }) {
  const dialect = new SQLiteSyncDialect();
  const session = new SQLiteBunSession(client as never, dialect, undefined);
  return new BaseSQLiteDatabase("sync", dialect, session as never, undefined);
}
