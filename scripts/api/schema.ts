/** A JSON schema, as far as the OpenAPI documents use it. */
export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minItems?: number;
  maxItems?: number;
}

/** One line of a table of fields; the names of nested ones are joined by dots, `[]` stands for each of a list. */
export interface Field {
  name: string;
  type: string;
  optional: boolean;
  told: string;
}

/** What kind of value a schema allows, in words; a named schema is a link to its section. */
export function typeOf(schema: Schema): string {
  if (schema.$ref) return toLink(schema.$ref);
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(" or ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}${limits(schema)}`;
  if (schema.type === "object") {
    const values = schema.additionalProperties;
    if (schema.properties || typeof values !== "object") return "object";
    return Object.keys(values).length === 0 ? "object" : `object of ${typeOf(values)}`;
  }
  return `${schema.type ?? "any value"}${limits(schema)}`;
}

/** The fields of an object and of the objects in it, in the order of the schema. A named schema is not entered. */
export function fieldsOf(schema: Schema, prefix = ""): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const name = `${prefix}${key}`;
    const inner = innerObjects(value).flatMap(({ schema, each }) =>
      fieldsOf(schema, `${name}${each ? "[]" : ""}.`),
    );
    const optional = !(schema.required ?? []).includes(key);
    return [{ name, type: typeOf(value), optional, told: tell(value) }, ...inner];
  });
}

/** What a schema says of itself in a sentence: its description, then its default. */
export function tell(schema: Schema): string {
  const described = [schema, ...(schema.anyOf ?? [])].find((one) => one.description)?.description ?? "";
  const byDefault = schema.default === undefined ? "" : `default ${code(schema.default)}`;
  return [described, byDefault].filter((part) => part !== "").join("; ");
}

function innerObjects(schema: Schema): { schema: Schema; each: boolean }[] {
  if (schema.properties) return [{ schema, each: false }];
  if (schema.anyOf) return schema.anyOf.flatMap(innerObjects);
  if (schema.items) return innerObjects(schema.items).map((inner) => ({ ...inner, each: true }));
  return [];
}

function limits(schema: Schema): string {
  const unit = schema.type === "string" ? " characters" : schema.type === "array" ? " of them" : "";
  const least = schema.minLength ?? schema.minimum ?? schema.minItems;
  const most = schema.maxLength ?? schema.maximum ?? schema.maxItems;
  const parts = [
    schema.exclusiveMinimum === undefined ? "" : `above ${schema.exclusiveMinimum}`,
    toLeast(least, unit, most),
    most === undefined ? "" : `at most ${most}${unit}`,
    schema.pattern === undefined ? "" : `matching ${code(schema.pattern)}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}

function toLink(reference: string): string {
  const name = reference.split("/").at(-1) ?? "";
  return `[${name}](#${name.toLowerCase()})`;
}

/** A value as JSON in backticks; a string without its quotes. */
function code(value: unknown): string {
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function toLeast(least: number | undefined, unit: string, most: number | undefined): string {
  if (least === undefined || (least <= 0 && unit !== "")) return "";
  if (least === 1 && unit !== "") return "not empty";
  return `at least ${least}${most === undefined ? unit : ""}`;
}
