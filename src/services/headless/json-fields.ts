import { jsonValue } from "../../protocol/json.ts";
/** A JSON object whose shape nobody promised. */
export type Fields = Readonly<Record<string, unknown>>;

/** The object that `value` is, or one without fields. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text that `value` is, or null. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The items of an array; none when `value` is no array. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON text of anything; text itself stays as it is. */
export function renderValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/**
 * The sentence inside an error that a model server wrapped in JSON, perhaps behind a prefix such as
 * `[API Error: {...}]`; the text itself when there is none.
 */
export function readableError(text: string): string {
  const open = text.indexOf("{");
  const close = text.lastIndexOf("}");
  if (open < 0 || close < open) return text;
  const inner = jsonValue(text.slice(open, close + 1));
  const error = fieldsOf(fieldsOf(inner)["error"]);
  return textOf(error["message"]) ?? textOf(fieldsOf(inner)["message"]) ?? text;
}
