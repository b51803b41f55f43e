import type { Database } from "bun:sqlite";
import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";

type Given<Params> = keyof Params extends never ? [] : [params: Params];

/** A statement, prepared at its first use. A parameter without a value is NULL. */
interface Statement<Params, Row> {
  readonly text: string;
  run(...given: Given<Params>): void;
  /** The first row. */
  get(...given: Given<Params>): Row | undefined;
  all(...given: Given<Params>): Row[];
}

/**
 * Prepares a statement that runs often. The library would build the query and map values and rows for each
 * call, which is half of the time of an insert, and its first query in a process takes 2 ms. Parameters in
 * `text` are `:name`. Rows are those of the driver: a boolean is 0 or 1.
 */
export function prepare<Params extends object, Row = never>(
  client: Pick<Database, "prepare">,
  text: string,
): Statement<Params, Row> {
  const names: string[] = [];
  const numbered = text.replace(/:([A-Za-z]\w*)/g, (_, name: string) => {
    const index = names.indexOf(name);
    return `?${index < 0 ? names.push(name) : index + 1}`;
  });
  const make = () => client.prepare<Row, (string | number | boolean | null)[]>(numbered);
  let made: ReturnType<typeof make> | null = null;
  const statement = () => {
    made ??= make();
    return made;
  };
  const valuesOf = ([params]: Given<Params>) => {
    const values = (params ?? {}) as Record<string, string | number | boolean | null | undefined>;
    return names.map((name) => values[name] ?? null);
  };
  return {
    text: numbered,
    run: (...given) => void statement().run(...valuesOf(given)),
    get: (...given) => statement().get(...valuesOf(given)) ?? undefined,
    all: (...given) => statement().all(...valuesOf(given)),
  };
}

/** The columns of a SELECT, named as in code. */
export function selectList(columns: Readonly<Record<string, SQLiteColumn>>): string {
  return Object.entries(columns)
    .map(([name, column]) => `${getTableName(column.table)}.${column.name} AS ${name}`)
    .join(", ");
}

/** The text of an INSERT whose parameters have the names of the columns in code. */
export function insertText<T extends SQLiteTable>(
  table: T,
  names: readonly (keyof T["$inferInsert"] & string)[],
): string {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  const list = names.map((name) => columns[name]?.name).join(", ");
  return `INSERT INTO ${getTableName(table)} (${list}) VALUES (${names.map((name) => `:${name}`).join(", ")})`;
}
