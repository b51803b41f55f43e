import type { TSchema } from "@sinclair/typebox";
import { absent } from "./values.ts";

/** Where a field is in a JSON document. */
export type FieldPath = readonly (string | number)[];

/** The schema as plain JSON Schema, which is what TypeBox makes. */
interface Shape {
  type?: string;
  anyOf?: Shape[];
  allOf?: Shape[];
  properties?: Record<string, Shape>;
  patternProperties?: Record<string, Shape>;
  items?: Shape | Shape[];
}

/**
 * Every field that a schema names, optional ones too, and the root: of a list its first element, of a record
 * one with a key of its own. A new field of a schema is in it without further work.
 */
export function fieldsOf(schema: TSchema): FieldPath[] {
  const found = new Map<string, FieldPath>();
  const visit = (shape: Shape, path: FieldPath) => {
    found.set(JSON.stringify(path), path);
    for (const one of [...(shape.anyOf ?? []), ...(shape.allOf ?? [])]) visit(one, path);
    for (const [name, one] of Object.entries(shape.properties ?? {})) visit(one, [...path, name]);
    for (const one of Object.values(shape.patternProperties ?? {})) visit(one, [...path, recordKey]);
    const items = Array.isArray(shape.items) ? shape.items : shape.items ? [shape.items] : [];
    for (const [index, one] of items.entries()) visit(one, [...path, index]);
  };
  visit(schema as Shape, []);
  return [...found.values()];
}

/** Every field of a document that no schema describes. */
export function fieldsIn(value: unknown, path: FieldPath = []): FieldPath[] {
  if (value === null || typeof value !== "object") return [path];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.slice(0, 1).map((one) => [0, one])
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, one]) => fieldsIn(one, [...path, key]))];
}

/** Stands for a key that the schema leaves to the file. */
const recordKey = "key";

/**
 * `document` with `value` at `path`, everything else as it is; what is missing on the way is made. A value at
 * the key of a record that is text becomes the key too, since a key may be a path.
 */
export function withField(document: unknown, path: FieldPath, value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value === absent ? null : value;
  if (typeof first === "number") {
    const list = Array.isArray(document) ? [...document] : [];
    if (rest.length === 0 && value === absent) return list.filter((_, index) => index !== first);
    list[first] = withField(list[first], rest, value);
    return list;
  }
  const entries =
    document !== null && typeof document === "object" && !Array.isArray(document)
      ? Object.entries(document)
      : [];
  if (rest.length === 0 && value === absent) {
    return Object.fromEntries(entries.filter(([key]) => key !== first));
  }
  const inner = withField(entries.find(([key]) => key === first)?.[1], rest, value);
  const asKey: [string, unknown][] =
    first === recordKey && rest.length === 0 && typeof value === "string" ? [[value, entries[0]?.[1]]] : [];
  return Object.fromEntries([...entries.filter(([key]) => key !== first), [first, inner], ...asKey]);
}
