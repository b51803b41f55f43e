import type { TSchema } from "@sinclair/typebox";
import { admitNulls } from "../../protocol/null-absence.ts";

export type JsonSchema = Record<string, unknown>;

/**
 * Writes TypeBox schemas as the JSON Schema of OpenAPI 3.1 and collects the components that they refer to.
 */
export type SchemaWriter = ReturnType<typeof createSchemaWriter>;

/**
 * `named`: schemas that become components. A schema with the same shape refers to the component, even with
 * another description. When two named schemas have the same shape, the first name is used. In a request body
 * a schema has the same name, so one that admits null there must not be part of an answer.
 */
export function createSchemaWriter(named: Readonly<Record<string, TSchema>>) {
  const nameOf = new Map<string, string>();
  for (const [name, schema] of Object.entries(named)) {
    if (!isComponent(schema)) continue;
    for (const one of [schema, admitNulls(schema)]) {
      const shape = shapeOf(one);
      if (!nameOf.has(shape)) nameOf.set(shape, name);
    }
  }
  const used = new Map<string, JsonSchema>();
  const shapeUsed = new Map<string, string>();

  function write(schema: JsonSchema): JsonSchema {
    const shape = shapeOf(schema);
    const name = nameOf.get(shape);
    if (name === undefined) return writeParts(schema);
    const own = named[name] ?? schema;
    if (!used.has(name)) {
      // Entered before its parts are written, since a part may refer to the whole.
      used.set(name, {});
      shapeUsed.set(name, shape);
      const { description: _, ...parts } = schema;
      const { description: ownDescription } = own;
      used.set(
        name,
        writeParts(ownDescription === undefined ? parts : { ...parts, description: ownDescription }),
      );
    } else if (shapeUsed.get(name) !== shape) {
      throw new Error(`the schema ${name} is part of a request body and of an answer, and differs there`);
    }
    const description = schema["description"];
    return {
      $ref: refTo(name),
      ...(description === undefined || description === own["description"] ? {} : { description }),
    };
  }

  function writeNamed(schema: TSchema, fallback: string): { $ref: string } {
    const written = write(schema);
    if (typeof written["$ref"] === "string") return { $ref: written["$ref"] };
    const branches = ((written["anyOf"] ?? []) as JsonSchema[]).map(({ $ref }) => $ref);
    const ofBranches = branches.every((ref) => typeof ref === "string") && branches.length > 0;
    const names = ofBranches ? branches.map((ref) => nameIn(String(ref))) : [];
    const name = ofBranches ? names.join("Or") : fallback;
    const texts = names.map((branch) => used.get(branch)?.["description"]);
    if (ofBranches) written["description"] ??= texts.join(", or ");
    const before = used.get(name);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(written)) {
      throw new Error(`two schemas would be called ${name}`);
    }
    used.set(name, written);
    return { $ref: refTo(name) };
  }

  function writeParts(schema: JsonSchema): JsonSchema {
    const { anyOf, properties, items, additionalProperties, patternProperties, distinct, enforced, ...rest } =
      schema;
    const choices = Array.isArray(anyOf) ? (anyOf as JsonSchema[]) : null;
    const values: JsonSchema | undefined = patternProperties
      ? Object.values(patternProperties as Record<string, JsonSchema>)[0]
      : undefined;
    return {
      // Drops TypeBox's marks, which are symbols.
      ...Object.fromEntries(Object.entries(rest)),
      // TypeBox gives the literal 1 the type number, which generated clients take for a float.
      ...(Number.isInteger(rest["const"]) ? { type: "integer" } : {}),
      ...(choices ? writeChoices(choices, rest) : {}),
      ...(properties ? { properties: writeEach(properties as Record<string, JsonSchema>) } : {}),
      ...(items ? { items: write(items as JsonSchema) } : {}),
      ...(distinct ? { uniqueItems: true } : {}),
      ...(additionalProperties === undefined
        ? {}
        : {
            additionalProperties:
              typeof additionalProperties === "object"
                ? write(additionalProperties as JsonSchema)
                : additionalProperties,
          }),
      // A record: all values have this schema.
      ...(values ? { additionalProperties: write(values) } : {}),
      ...withinAllOf(enforced as JsonSchema | undefined),
    };
  }

  /** The keywords of a union: an enum, a type that may be null, or `anyOf`. */
  function writeChoices(choices: readonly JsonSchema[], outer: JsonSchema): JsonSchema {
    if (choices.every((choice) => typeof choice["const"] === "string" && !choice["description"])) {
      return { type: "string", enum: choices.map((choice) => choice["const"]) };
    }
    const written = choices.map(write);
    const [first, second] = written;
    if (written.length !== 2 || !first || second?.["type"] !== "null") return { anyOf: written };
    const description = outer["description"] ?? first["description"];
    const described = description === undefined ? {} : { description };
    if (isPlain(first)) return { ...first, ...described, type: [first["type"], "null"] };
    const { description: _, ...bare } = first;
    return { anyOf: [bare, second], ...described };
  }

  const writeEach = (properties: Record<string, JsonSchema>) =>
    Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, write(part)]));

  return {
    write,
    /**
     * A reference to the schema of a body. A union without a name gets the names of its branches, any other
     * schema without a name gets `fallback`.
     */
    writeNamed,
    /** The components that were referred to so far, by name. */
    components: (): Record<string, JsonSchema> =>
      Object.fromEntries([...used].sort(([left], [right]) => (left < right ? -1 : 1))),
  };
}

/** The name of the component in a reference. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

const refTo = (name: string) => `#/components/schemas/${name}`;

/** Components are objects, unions, and strings and numbers with a rule or an example. */
function isComponent(schema: TSchema): boolean {
  return ["anyOf", "properties", "pattern", "examples"].some((key) => schema[key] !== undefined);
}

/** A string, number or boolean without keywords that restrict null. */
function isPlain(schema: JsonSchema): boolean {
  return (
    ["string", "integer", "number", "boolean"].includes(String(schema["type"])) &&
    !["const", "enum", "allOf", "anyOf", "contentMediaType"].some((key) => schema[key] !== undefined)
  );
}

/**
 * Puts an `anyOf` of rules below `allOf`: generators take an `anyOf` beside `properties` for a union of
 * types.
 */
function withinAllOf(rules: JsonSchema | undefined): JsonSchema {
  const { anyOf, allOf, ...rest } = rules ?? {};
  if (anyOf === undefined) return rules ?? {};
  return { ...rest, allOf: [{ anyOf }, ...((allOf as JsonSchema[] | undefined) ?? [])] };
}

/** A key that is equal for schemas that differ only in their description. */
function shapeOf(schema: JsonSchema): string {
  const { description: _description, ...shape } = schema;
  return JSON.stringify(shape);
}
