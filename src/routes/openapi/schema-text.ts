import { type JsonSchema, nameIn } from "./json-schema.ts";

/** One row of a table of fields. The names of nested ones are joined by dots, `[]` is each item of a list. */
export interface Field {
  name: string;
  /** HTML. */
  type: string;
  optional: boolean;
  description: string;
}

/** The fields of an object and of the unnamed objects in it, in the order of the schema. Pure. */
export function fieldsOf(schema: JsonSchema, prefix = ""): Field[] {
  const required = (schema["required"] as string[] | undefined) ?? [];
  return Object.entries((schema["properties"] as Record<string, JsonSchema> | undefined) ?? {}).flatMap(
    ([key, part]) => {
      const name = `${prefix}${key}`;
      const inner = objectsIn(part).flatMap(({ object, each }) =>
        fieldsOf(object, `${name}${each ? "[]" : ""}.`),
      );
      const description = String(part["description"] ?? "");
      return [{ name, type: typeHtml(part), optional: !required.includes(key), description }, ...inner];
    },
  );
}

/** What a schema allows, in words, as HTML. A named schema is a link to its section. Pure. */
export function typeHtml(schema: JsonSchema): string {
  const { $ref, anyOf, items, properties, type, additionalProperties } = schema;
  if (typeof $ref === "string") {
    const name = escapeHtml(nameIn($ref));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if ("const" in schema) return code(schema["const"]);
  if (Array.isArray(schema["enum"])) return schema["enum"].map(code).join(" or ");
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeHtml(choice as JsonSchema)).join(" or ");
  if (items) return `list of ${typeHtml(items as JsonSchema)}${limits(schema)}`;
  if (type === "object") {
    const values = typeof additionalProperties === "object" ? (additionalProperties as JsonSchema) : {};
    return properties || Object.keys(values).length === 0 ? "object" : `object of ${typeHtml(values)}`;
  }
  const name = Array.isArray(type) ? type.join(" or ") : String(type ?? "any value");
  return `${escapeHtml(name)}${limits(schema)}`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function objectsIn(schema: JsonSchema): { object: JsonSchema; each: boolean }[] {
  if (schema["properties"]) return [{ object: schema, each: false }];
  const choices = schema["anyOf"] as JsonSchema[] | undefined;
  if (choices) return choices.flatMap(objectsIn);
  const items = schema["items"] as JsonSchema | undefined;
  return items ? objectsIn(items).map((inner) => ({ ...inner, each: true })) : [];
}

function limits(schema: JsonSchema): string {
  const unit = schema["items"] ? " items" : [schema["type"]].flat().includes("string") ? " characters" : "";
  const least = schema["minLength"] ?? schema["minimum"] ?? schema["minItems"];
  const most = schema["maxLength"] ?? schema["maximum"] ?? schema["maxItems"];
  const words = [
    schema["exclusiveMinimum"] === undefined ? "" : `more than ${schema["exclusiveMinimum"]}`,
    least === undefined || (least === 0 && unit !== "") ? "" : `at least ${least}${unit}`,
    most === undefined || Number(most) >= Number.MAX_SAFE_INTEGER ? "" : `at most ${most}${unit}`,
    schema["uniqueItems"] === true ? "all different" : "",
    schema["default"] === undefined ? "" : `default ${JSON.stringify(schema["default"])}`,
  ].filter((word) => word !== "");
  const pattern = schema["pattern"] === undefined ? "" : `, matching ${code(schema["pattern"])}`;
  return `${words.length > 0 ? `, ${escapeHtml(words.join(", "))}` : ""}${pattern}`;
}

/** A value as JSON; a string without its quotes. */
function code(value: unknown): string {
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return `<code>${escapeHtml(text)}</code>`;
}
