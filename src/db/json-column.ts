import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/**
 * The value of a column that holds JSON of `schema`. Anything else counts as a damaged database: the error
 * has SQLite's own code, so that the same advice is given, and never the value. `where`: the column and its
 * row, for the message.
 */
export function parseColumn<Schema extends TSchema>(
  schema: Schema,
  json: string,
  where: string,
): Static<Schema> {
  const value = parse(json, where);
  if (!Value.Check(schema, value)) throw damaged(new Error(`${where} holds JSON of another shape`));
  return value;
}

function parse(json: string, where: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw damaged(new Error(`${where} holds no JSON`, { cause: error }));
  }
}

const damaged = (error: Error) => Object.assign(error, { code: "SQLITE_CORRUPT" });
