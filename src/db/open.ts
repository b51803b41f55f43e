import { Database } from "bun:sqlite";
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
    for (const pragma of ["busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"]) {
      client.run(`PRAGMA ${pragma}`);
    }
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

function migrate(client: Database, migrations: readonly Migration[], clock: Clock, steps: Steps): void {
  client.run(
    "CREATE TABLE IF NOT EXISTS __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL)",
  );
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
  if (applied.length === migrations.length) return;
  steps.before("sql:migrate");
  client
    .transaction(() => {
      for (const [index, migration] of migrations.entries()) {
        if (index < applied.length) continue;
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

function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
