import { Database } from "bun:sqlite";
import { type Clock, timestampNow } from "../system/clock.ts";
import { sha256 } from "../system/digest.ts";
import { ServiceError } from "../system/errors.ts";
import { quietSteps, type Steps } from "../system/steps.ts";

/** One migration, embedded in the executable; `tag` is its name and its order. */
export interface Migration {
  readonly tag: string;
  readonly sql: string;
  /** `schemaDigest` of a new database after this migration; only the newest migration has it. */
  readonly digest?: string;
}

/** Applies the missing migrations. Refuses like `countApplied`. */
export function migrate(
  client: Database,
  migrations: readonly Migration[],
  { name, clock, steps }: { name: string; clock: Clock; steps: Steps },
): void {
  client.run(
    "CREATE TABLE IF NOT EXISTS __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL)",
  );
  if (countApplied(client, migrations, name) === migrations.length) return;
  steps.before("sql:migrate");
  client
    .transaction(() => {
      // Counted again: another process may have migrated while this one waited for the lock.
      for (const [index, migration] of [...migrations.entries()].slice(
        countApplied(client, migrations, name),
      )) {
        for (const statement of migration.sql.split("--> statement-breakpoint")) client.run(statement);
        client.run("INSERT INTO __migrations VALUES (?, ?, ?, ?)", [
          index,
          migration.tag,
          sha256(migration.sql),
          timestampNow(clock),
        ]);
      }
    })
    .immediate();
  steps.after("sql:migrate");
}

/** Number of applied migrations. Throws for a database with other migrations. */
export function countApplied(client: Database, migrations: readonly Migration[], name: string): number {
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
        `${name} was written by a newer svc (migration ${row.tag}): use that version or a later one; nothing was changed`,
      );
    }
    if (ours.tag !== row.tag || sha256(ours.sql) !== row.sha256) {
      throw new ServiceError(
        "precondition_failed",
        `${name} was written by another svc (its migration ${row.tag} is not ours): use the version that wrote it; nothing was changed`,
      );
    }
  }
  return applied.length;
}

/** An error for a damaged file, like SQLite's. */
export function damaged(problem: string): Error {
  return Object.assign(new Error(problem), { code: "SQLITE_CORRUPT" });
}

interface Part {
  type: string;
  name: string;
  /** The columns of a table, or the SQL text of another part; null for the index of a constraint. */
  definition: string | null;
}

/**
 * Throws, as for a damaged file, unless the database has every table, view, index and trigger of `migrations`
 * and no other view or trigger, which SQLite would run when svc reads or writes. Other tables and indexes are
 * allowed, since backup tools add some.
 */
export function refuseOtherShape(client: Database, migrations: readonly Migration[]): void {
  // Almost every file is unchanged. Building a database for the comparison takes 2 ms of a gateway's start.
  if (schemaDigest(client) === migrations.at(-1)?.digest) return;
  const made = partsOf(client);
  const expected = partsMadeBy(migrations);
  for (const part of expected.values()) {
    const found = made.get(keyOf(part));
    if (found?.definition !== part.definition) {
      throw damaged(
        `${part.type} ${part.name} is ${found ? "not as svc makes it" : "missing: the file is not as svc makes it"}`,
      );
    }
  }
  for (const part of made.values()) {
    const active = part.type === "view" || part.type === "trigger";
    if (active && !expected.has(keyOf(part))) {
      throw damaged(`the file is not as svc makes it: it has a further ${part.type}`);
    }
  }
}

/** SHA-256 of the schema text of a database. */
export function schemaDigest(client: Database): string {
  const rows = client
    .query<Record<string, string>, []>(
      "SELECT type, name, tbl_name, coalesce(sql, '') AS sql FROM sqlite_schema ORDER BY type, name",
    )
    .values();
  return sha256(JSON.stringify(rows));
}

const keyOf = ({ type, name }: Part) => `${type} ${name}`;

/** Columns are compared, not the text of a table, which SQLite rewrites when a migration alters the table. */
function partsOf(client: Database, without = ""): Map<string, Part> {
  const parts = client
    .query<Part, []>(
      `SELECT type, name, CASE WHEN type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
         THEN (SELECT group_concat(concat_ws(' ', name, type, "notnull", pk, hidden), ', ' ORDER BY cid)
               FROM pragma_table_xinfo(made.name))
         ELSE sql END AS definition
       FROM sqlite_schema AS made ${without}`,
    )
    .all();
  return new Map(parts.map((part) => [keyOf(part), part]));
}

const partsByMigrations = new WeakMap<readonly Migration[], ReadonlyMap<string, Part>>();

/** The parts of a new database, without the tables that SQLite creates for a full-text index. */
function partsMadeBy(migrations: readonly Migration[]): ReadonlyMap<string, Part> {
  const known = partsByMigrations.get(migrations);
  if (known) return known;
  const client = new Database(":memory:");
  try {
    const clock = { nowMs: () => 0 } as Clock;
    migrate(client, migrations, { name: "model", clock, steps: quietSteps });
    const parts = partsOf(
      client,
      "WHERE name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')",
    );
    partsByMigrations.set(migrations, parts);
    return parts;
  } finally {
    client.close();
  }
}
