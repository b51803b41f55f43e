import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Two spaces, sorted keys, final newline: the form of every JSON file and of `--json` (spec/gateway.md 2.7). */
export function renderJson(value: unknown): string {
  return `${JSON.stringify(value, sortKeys, 2)}\n`;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The value of a JSON text when it is of `schema`; null for any other text and for none. */
export function parseJson<Schema extends TSchema>(
  schema: Schema,
  text: string | null,
): Static<Schema> | null {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return Value.Check(schema, value) ? value : null;
  } catch {
    return null;
  }
}
