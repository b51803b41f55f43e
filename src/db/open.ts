import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { type BunSQLiteDatabase, drizzle } from "drizzle-orm/bun-sqlite";
import { type Clock, timestampNow } from "../system/clock.ts";
import { ServiceError } from "../system/errors.ts";
import { createPrivately } from "../system/private-file.ts";
import type { Steps } from "../system/steps.ts";
import type { Migration } from "./migrations.ts";

type Sync<T> = T extends Promise<unknown> ? never : T;

/** An open SQLite file: reads are free, every write is one labelled immediate transaction. */
export interface Store<S extends Record<string, unknown>> {
  readonly db: BunSQLiteDatabase<S>;
  /**
   * Runs `change` in one immediate transaction that is on disk when this returns (WAL, synchronous FULL). A
   * throw rolls back. `change` must be synchronous: an async callback would commit before it finished.
   * `durable: false` leaves the sync to a later write: after a loss of power this one may be undone, whole.
   */
  write<T>(label: string, change: (db: BunSQLiteDatabase<S>) => Sync<T>, options?: { durable?: boolean }): T;
  close(): void;
}

/**
 * Opens (and creates, 0600) a database file and brings it to the newest migration. `:memory:` is allowed. Refuses a file that a newer version wrote, or whose applied migrations differ from ours.
 */
export function openStore<S extends Record<string, unknown>>(options: {
  path: string;
  schema: S;
  migrations: readonly Migration[];
  clock: Clock;
  steps: Steps;
}): Store<S> {
  const { path, schema, migrations, clock, steps } = options;
  if (path !== ":memory:") createPrivately(path);
  const client = new Database(path, { create: true, readwrite: true, strict: true });
  try {
    client.run("PRAGMA busy_timeout=5000");
    useWriteAheadLog(client);
    for (const pragma of ["synchronous=FULL", "foreign_keys=ON"]) client.run(`PRAGMA ${pragma}`);
    migrate(client, migrations, clock, steps);
  } catch (error) {
    client.close();
    throw error;
  }
  const db = drizzle({ client, schema });
  return {
    db,
    write<T>(
      label: string,
      change: (db: BunSQLiteDatabase<S>) => Sync<T>,
      { durable = true }: { durable?: boolean } = {},
    ): T {
      steps.before(label);
      if (!durable) client.run("PRAGMA synchronous=NORMAL");
      try {
        // The driver's transaction holds one connection, so prepared statements made on `db` take part in it.
        const result = client.transaction(() => change(db)).immediate() as T;
        steps.after(label);
        return result;
      } finally {
        if (!durable) client.run("PRAGMA synchronous=FULL");
      }
    },
    close: () => client.close(),
  };
}

/** SQLite does not wait for another process that changes the journal too; a transaction does, and then it is done. */
function useWriteAheadLog(client: Database): void {
  for (let attempt = 1; ; attempt++) {
    try {
      client.run("PRAGMA journal_mode=WAL");
      return;
    } catch (error) {
      if (attempt === 20 || (error as { code?: string }).code !== "SQLITE_BUSY") throw error;
      client.transaction(() => undefined).immediate();
    }
  }
}

function migrate(client: Database, migrations: readonly Migration[], clock: Clock, steps: Steps): void {
  client.run(
    "CREATE TABLE IF NOT EXISTS __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL)",
  );
  if (countApplied(client, migrations) === migrations.length) return;
  steps.before("sql:migrate");
  client
    .transaction(() => {
      // Counted anew: another process may have migrated while this one waited for its turn.
      for (const [index, migration] of [...migrations.entries()].slice(countApplied(client, migrations))) {
        for (const statement of migration.sql.split("--> statement-breakpoint")) client.run(statement);
        client.run("INSERT INTO __migrations VALUES (?, ?, ?, ?)", [
          index,
          migration.tag,
          digest(migration.sql),
          timestampNow(clock),
        ]);
      }
    })
    .immediate();
  steps.after("sql:migrate");
}

/** How many of our migrations the database has. Throws when it has others. */
function countApplied(client: Database, migrations: readonly Migration[]): number {
  const applied = client
    .query<{ idx: number; tag: string; sha256: string }, []>(
      "SELECT idx, tag, sha256 FROM __migrations ORDER BY idx",
    )
    .all();
  for (const [index, row] of applied.entries()) {
    const ours = migrations[index];
    if (!ours) {
      throw new ServiceError(
        "precondition_failed",
        `the database holds migration ${row.tag}, which this version does not know; use a newer svc`,
      );
    }
    if (ours.tag !== row.tag || digest(ours.sql) !== row.sha256) {
      throw new ServiceError("precondition_failed", `migration ${row.tag} of the database differs from ours`);
    }
  }
  return applied.length;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
