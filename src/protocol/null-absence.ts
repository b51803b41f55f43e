import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import { Nullable } from "./wire.ts";

/**
 * In a request body `null` for an optional field counts as absent (ruling 35). The schemas of bodies do not
 * allow such nulls: `dropNulls` removes them before validation, and documents show the schemas of
 * `admitNulls`.
 */

type JsonObject = Record<string, unknown>;

/** Removes each null of an optional field from `value`, in place and at every depth. Returns `value`. */
export function dropNulls(schema: TSchema, value: unknown): unknown {
  // Most bodies hold no null. This check takes a twentieth of the time of the walk by schema.
  return hasNull(value) ? dropNullsBySchema(schema, value) : value;
}

function hasNull(value: unknown): boolean {
  if (typeof value !== "object") return false;
  if (value === null) return true;
  for (const key in value) if (hasNull((value as JsonObject)[key])) return true;
  return false;
}

function dropNullsBySchema(schema: TSchema, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = schema["items"] as TSchema | undefined;
    if (items) for (const item of value) dropNullsBySchema(items, item);
    return value;
  }
  for (const { properties, required } of objectsIn(schema, value as JsonObject)) {
    for (const [name, property] of Object.entries(properties)) {
      if (!Object.hasOwn(value, name)) continue;
      const field = (value as JsonObject)[name];
      if (field !== null) dropNullsBySchema(property, field);
      else if (!required?.includes(name)) delete (value as JsonObject)[name];
    }
  }
  return value;
}

/** The object schemas that may describe `value`: for a union, the branches whose literals match `value`. */
function objectsIn(schema: TSchema, value: JsonObject): TObject[] {
  if (isObject(schema)) return [schema];
  return choicesOf(schema)
    .filter((choice) => !isObject(choice) || hasLiterals(choice, value))
    .flatMap((choice) => objectsIn(choice, value));
}

function hasLiterals({ properties }: TObject, value: JsonObject): boolean {
  return Object.entries(properties).every(
    ([name, { const: literal }]) => literal === undefined || value[name] === literal || value[name] == null,
  );
}

/** The schema of a body as callers may send it: null is allowed for every optional field at every depth. */
export function admitNulls(schema: TSchema): TSchema {
  if (isObject(schema)) {
    const properties = Object.entries(schema.properties).map(([name, property]): [string, TSchema] => {
      const inner = admitNulls(property);
      return [
        name,
        schema.required?.includes(name) || admitsNull(inner) ? inner : Type.Optional(Nullable(inner)),
      ];
    });
    return { ...schema, properties: Object.fromEntries(properties) } as TObject;
  }
  const choices = choicesOf(schema);
  if (choices.length > 0) return { ...schema, anyOf: choices.map(admitNulls) };
  const items = schema["items"] as TSchema | undefined;
  return items ? { ...schema, items: admitNulls(items) } : schema;
}

/** A schema without `type` and `const` admits every value, null too. */
function admitsNull(schema: TSchema): boolean {
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.some(admitsNull);
  return schema["type"] === "null" || (schema["type"] === undefined && schema["const"] === undefined);
}

function isObject(schema: TSchema): schema is TObject {
  return schema["properties"] !== undefined;
}

function choicesOf(schema: TSchema): TSchema[] {
  return (schema["anyOf"] as TSchema[] | undefined) ?? [];
}
