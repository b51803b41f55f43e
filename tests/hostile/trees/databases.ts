import { Database } from "bun:sqlite";
import { absent, asText } from "./values.ts";

/** A column of a database, and what else can be planted in one. */
export interface DatabasePlant {
  table: string;
  column: string;
}

/** Every column of every table, read from the file itself: a new column of a migration is in it. */
export function columnsOf(path: string): DatabasePlant[] {
  const database = new Database(path, { readonly: true });
  try {
    const tables = database
      .query<{ name: string }, []>(
        // Shadow tables of a full-text index can be written by nobody; bytes of them are damaged with the
        // file.
        "SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all();
    return tables.flatMap(({ name }) =>
      infoOf(database, name).map((column) => ({ table: name, column: column.name })),
    );
  } finally {
    database.close();
  }
}

interface ColumnInfo {
  name: string;
  type: string;
  pk: number;
}

function infoOf(database: Database, table: string): ColumnInfo[] {
  return database.query<ColumnInfo, [string]>("SELECT name, type, pk FROM pragma_table_info(?)").all(table);
}

/**
 * Puts `value` into a column of every row; a table without rows gets one first. The file's own rules of what
 * a value may be do not hold an attacker back.
 */
export function plantInColumn(path: string, { table, column }: DatabasePlant, value: unknown): void {
  change(path, (database) => {
    const columns = infoOf(database, table);
    // Another plant of the same tree took the table away.
    if (columns.length === 0) return;
    const empty = database.query(`SELECT 1 FROM "${table}" LIMIT 1`).get() === null;
    if (empty) {
      const names = columns.map(({ name }) => `"${name}"`).join(", ");
      const values = columns.map((one) => plausible(table, one));
      attempt(
        () =>
          void database.run(
            `INSERT OR IGNORE INTO "${table}" (${names}) VALUES (${values.map(() => "?").join(", ")})`,
            values,
          ),
      );
    }
    const bound = toColumn(value);
    attempt(() => {
      if (bound === null) dropRules(database, table);
      database.run(`UPDATE OR IGNORE "${table}" SET "${column}" = ?`, [bound]);
    });
  });
}

/** The same rows in a table of the same name that takes anything. */
function dropRules(database: Database, table: string): void {
  database.run(`CREATE TABLE planted_copy AS SELECT * FROM "${table}"`);
  database.run(`DROP TABLE "${table}"`);
  database.run(`ALTER TABLE planted_copy RENAME TO "${table}"`);
}

/** What SQLite itself refuses, such as text for a rowid, nobody can plant. */
function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    if ((error as Error).name !== "SQLiteError") throw error;
  }
}

/** Objects that our migrations never make, and that SQLite runs by itself when we read or write. */
export const schemaAttacks = {
  "trigger that adds work": (folder: string) =>
    ["messages", "registrations", "catalog"].map(
      (table) =>
        `CREATE TRIGGER planted_${table} AFTER UPDATE ON ${table} BEGIN
           INSERT INTO pending_artifacts (action, path) VALUES ('remove', '${folder}'); END`,
    ),
  "endless view": (_folder: string) => [
    "ALTER TABLE messages RENAME TO messages_before",
    `CREATE VIEW messages AS WITH RECURSIVE endless(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM endless)
       SELECT messages_before.* FROM messages_before, endless`,
  ],
  "attached by view": (folder: string) => [
    "ALTER TABLE registrations RENAME TO registrations_before",
    `CREATE VIEW registrations AS SELECT *, load_extension('${folder}/letter.txt') FROM registrations_before`,
  ],
  "newer version": () => ["UPDATE __migrations SET tag = '9999_later'"],
} satisfies Record<string, (folder: string) => string[]>;
export type SchemaAttack = keyof typeof schemaAttacks;

export function plantSchema(path: string, attack: SchemaAttack, folder: string): void {
  change(path, (database) => {
    // Some databases have no such table.
    for (const statement of schemaAttacks[attack](folder)) attempt(() => void database.run(statement));
  });
}

function change(path: string, work: (database: Database) => void): void {
  const database = new Database(path, { readwrite: true });
  try {
    for (const pragma of ["ignore_check_constraints = ON", "synchronous = OFF", "foreign_keys = OFF"]) {
      database.run(`PRAGMA ${pragma}`);
    }
    work(database);
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

function plausible(table: string, { name, type, pk }: ColumnInfo): string | number {
  if (table === "pending_artifacts" && name === "action") return "remove";
  if (name === "singleton" || pk > 0) return type.toLowerCase() === "integer" ? 1 : "one";
  return type.toLowerCase() === "integer" ? 1 : "planted";
}

function toColumn(value: unknown): string | number | null {
  if (value === null || value === absent) return null;
  if (typeof value === "number") return value;
  return asText(value);
}
