import type { Database } from "bun:sqlite";
import { is, Param, Placeholder, type Query } from "drizzle-orm";

type Values = Readonly<Record<string, string | number | null>>;

/** A query of scalars as the driver takes it, and rows as it gives them. */
export interface DirectStatement {
  run(values: Values): void;
  /** In the order of the query's columns, unmapped: a boolean is 0 or 1. */
  rows(values: Values): unknown[][];
}

/**
 * The library maps values and rows again for each call, half of an insert: this is for what runs too often
 * for that.
 */
export function direct(client: Pick<Database, "prepare">, query: { toSQL(): Query }): DirectStatement {
  const { sql: text, params } = query.toSQL();
  const statement = client.prepare(text);
  const slots = params.map((param) => {
    const value = is(param, Param) ? param.value : param;
    return is(value, Placeholder) ? { name: value.name } : { value: value as string | number };
  });
  const bound = (values: Values) =>
    slots.map((slot) => ("name" in slot ? (values[slot.name] ?? null) : slot.value));
  return {
    run: (values) => void statement.run(...bound(values)),
    rows: (values) => statement.values(...bound(values)),
  };
}
