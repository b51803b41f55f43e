import type { TSchema } from "@sinclair/typebox";

type Body = Record<string, unknown>;

/**
 * `body` as a client of the earlier system sends it: each optional field that is absent is null, at every
 * depth. Of a choice, the fields are those of the first branch whose literals the body has.
 */
export function bodyOfOldClient(schema: TSchema | null, body: object): object {
  return schema ? (filled(schema, body) as object) : body;
}

function filled(schema: TSchema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => filled((schema["items"] ?? {}) as TSchema, item));
  if (typeof value !== "object" || value === null) return value;
  const given = value as Body;
  const { properties, required = [] } = objectFor(schema, given);
  const absent = Object.keys(properties).filter((name) => !required.includes(name) && !(name in given));
  return {
    ...Object.fromEntries(
      Object.entries(given).map(([name, one]) => [name, filled((properties[name] ?? {}) as TSchema, one)]),
    ),
    ...Object.fromEntries(absent.map((name) => [name, null])),
  };
}

function objectFor(
  schema: TSchema,
  value: Body,
): { properties: Record<string, TSchema>; required?: string[] } {
  if (schema["properties"]) return schema as never;
  const branches = ((schema["anyOf"] ?? []) as TSchema[]).map((branch) => objectFor(branch, value));
  const fits = branches.find((branch) =>
    Object.entries(branch.properties).every(
      ([name, one]) => !("const" in one) || !(name in value) || one["const"] === value[name],
    ),
  );
  return fits ?? { properties: {} };
}
