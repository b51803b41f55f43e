import type { TSchema } from "@sinclair/typebox";
import { admitNulls } from "../../protocol/null-absence.ts";

export type JsonSchema = Record<string, unknown>;

/** Writes TypeBox schemas as the JSON Schema of OpenAPI 3.1 and keeps what they refer to. */
export interface SchemaWriter {
  write(schema: TSchema): JsonSchema;
  /** The named schemas that were referred to so far, themselves written, by name. */
  components(): Record<string, JsonSchema>;
}

/**
 * `named`: schemas that become components wherever one of the same shape occurs, a described variation included.
 * Only objects and choices are worth a name; of two of one shape the first gives it. As part of a request body a
 * schema has the same name; one that differs there cannot be part of an answer too.
 */
export function createSchemaWriter(named: Readonly<Record<string, TSchema>>): SchemaWriter {
  const nameOf = new Map<string, string>();
  for (const [name, schema] of Object.entries(named)) {
    if (!schema["anyOf"] && !schema["properties"]) continue;
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
      // Entered before its parts are written: a part may refer to the whole.
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
      $ref: `#/components/schemas/${name}`,
      ...(description === undefined || description === own["description"] ? {} : { description }),
    };
  }

  function writeParts(schema: JsonSchema): JsonSchema {
    const { anyOf, properties, items, additionalProperties, patternProperties, distinct, enforced, ...rest } =
      schema;
    const choices = Array.isArray(anyOf) ? (anyOf as JsonSchema[]) : null;
    const words = choices?.every((choice) => typeof choice["const"] === "string" && !choice["description"]);
    const values: JsonSchema | undefined = patternProperties
      ? Object.values(patternProperties as Record<string, JsonSchema>)[0]
      : undefined;
    return {
      // Without TypeBox's own marks, which are symbols.
      ...Object.fromEntries(Object.entries(rest)),
      ...(choices && words ? { type: "string", enum: choices.map((choice) => choice["const"]) } : {}),
      ...(choices && !words ? { anyOf: choices.map(write) } : {}),
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
      // A record: whatever its keys are, its values have this shape.
      ...(values ? { additionalProperties: write(values) } : {}),
      ...(enforced as JsonSchema | undefined),
    };
  }

  const writeEach = (properties: Record<string, JsonSchema>) =>
    Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, write(part)]));

  return {
    write,
    components: () => Object.fromEntries([...used].sort(([left], [right]) => (left < right ? -1 : 1))),
  };
}

/** Equal for schemas that accept the same and differ in their description only. */
function shapeOf(schema: JsonSchema): string {
  const { description: _description, ...shape } = schema;
  return JSON.stringify(shape);
}
