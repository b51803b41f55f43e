import type { OpenApiDocument } from "./document.ts";
import { coordinatorExamples } from "./examples/coordinator.ts";
import { gatewayExamples } from "./examples/gateway.ts";
import { mailExamples } from "./examples/mail.ts";
import { terminalExamples } from "./examples/terminal.ts";
import type { JsonSchema } from "./json-schema.ts";
import { componentTexts } from "./texts/components.ts";
import { fieldTexts } from "./texts/fields.ts";
import { parameterTexts, placeTexts } from "./texts/places.ts";

const examples = {
  ...gatewayExamples,
  ...terminalExamples,
  ...mailExamples,
  ...coordinatorExamples,
};

/**
 * Adds what the schemas lack, in place: texts of components, of their fields at every depth and of parameters, and
 * examples of bodies. A description that a schema has stays. Returns the document.
 */
export function describeDocument(document: OpenApiDocument): OpenApiDocument {
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    schema["description"] ??= componentTexts[name];
    describeFields(schema, name);
    const own = examples[name];
    if (own) schema["examples"] = own;
  }
  for (const { parameters = [] } of Object.values(document.paths).flatMap((methods) =>
    Object.values(methods),
  )) {
    for (const parameter of parameters) parameter.description ??= parameterTexts[parameter.name] ?? "";
  }
  return document;
}

function describeFields(schema: JsonSchema, place: string): void {
  for (const [field, part] of Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>)) {
    const text = placeTexts[`${place}.${field}`] ?? fieldTexts[field];
    if (part["description"] === undefined && text !== undefined) part["description"] = text;
    describeFields(part, `${place}.${field}`);
  }
  for (const branch of (schema["anyOf"] ?? []) as JsonSchema[]) describeFields(branch, place);
  if (schema["items"]) describeFields(schema["items"] as JsonSchema, `${place}[]`);
}
