import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import { Nullable } from "./wire.ts";

/**
 * In a request body `null` for an optional field counts as absent (ruling 35). The schemas of bodies describe
 * the body without such nulls: a request passes `dropNulls` before its validation, and documents show
 * `admitNulls`.
 */

type JsonObject = Record<string, unknown>;

/** Removes each null of an optional field from `value`, in place and at every depth. Returns `value`. */
export function dropNulls(schema: TSchema, value: unknown): unknown {
  // Most bodies hold none, and to see that takes a twentieth of what the schema's way through them takes.
  return holdsNull(value) ? dropFrom(schema, value) : value;
}

function holdsNull(value: unknown): boolean {
  if (typeof value !== "object") return false;
  if (value === null) return true;
  for (const key in value) if (holdsNull((value as JsonObject)[key])) return true;
  return false;
}

function dropFrom(schema: TSchema, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = schema["items"] as TSchema | undefined;
    if (items) for (const item of value) dropFrom(items, item);
    return value;
  }
  for (const { properties, required } of objectsIn(schema, value as JsonObject)) {
    for (const [name, property] of Object.entries(properties)) {
      if (!Object.hasOwn(value, name)) continue;
      const held = (value as JsonObject)[name];
      if (held !== null) dropFrom(property, held);
      else if (!required?.includes(name)) delete (value as JsonObject)[name];
    }
  }
  return value;
}

/** The object schemas that may describe `value`: of a choice, the branches whose literals it has. */
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

/** The schema of what callers may send: as `schema`, with null for every optional field at every depth. */
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

/** A schema without any rule admits whatever is sent. */
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
