import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/**
 * Parses a JSON column and validates it by `schema`. An invalid value counts as a damaged database: the error
 * has SQLite's code, so that callers get the same advice, and never contains the value. `where`: column and
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
