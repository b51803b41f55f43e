import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/**
 * The value of a column that holds JSON of `schema`. Anything else counts as a damaged database: the error has SQLite's
 * own code, so that the same advice is given.
 */
export function parseColumn<Schema extends TSchema>(schema: Schema, json: string): Static<Schema> {
  const value = parse(json);
  if (!Value.Check(schema, value)) throw damaged(new Error("a column holds JSON of another shape"));
  return value;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw damaged(new Error("a column holds no JSON", { cause: error }));
  }
}

const damaged = (error: Error) => Object.assign(error, { code: "SQLITE_CORRUPT" });
