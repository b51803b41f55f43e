import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import type { Content, OpenApiDocument } from "../../src/routes/openapi/document.ts";
import { coordinatorOpenApi, gatewayOpenApi } from "../../src/routes/openapi/documents.ts";
import examples from "../../src/routes/openapi/examples.json" with { type: "json" };
import { type JsonSchema, nameIn } from "../../src/routes/openapi/json-schema.ts";

// What people who generate clients need of the documents: one name for each body, and nothing written twice.

const documents = [
  { id: "gateway", document: gatewayOpenApi(), structureKilobytes: 156, wholeKilobytes: 276 },
  { id: "coordinator", document: coordinatorOpenApi(), structureKilobytes: 192, wholeKilobytes: 336 },
];

/** The bodies of each operation, by media type. A shared response is looked up. */
function bodiesOf({ paths, components }: OpenApiDocument) {
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, requestBody, responses }) => {
      const replies = Object.entries(responses).map(([status, response]) => {
        const { content } =
          "$ref" in response
            ? (components.responses[response.$ref.split("/").at(-1) ?? ""] ?? { content: {} })
            : response;
        return { where: `${operationId} ${status}`, content };
      });
      const request = requestBody ? [{ where: `${operationId} body`, content: requestBody.content }] : [];
      return [...request, ...replies];
    })
    .flatMap(({ where, content }) =>
      Object.entries(content as Content).map(([mediaType, media]) => ({ where, mediaType, ...media })),
    );
}

/** Without the texts: what is left is the structure. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, part]) =>
          !((key === "description" || key === "summary") && typeof part === "string") &&
          !(key === "examples" && Array.isArray(part)),
      )
      .map(([key, part]) => [key, withoutTexts(part)]),
  );
}

/** A component describes itself wherever it is a field, and a constant says what it says. */
function isDescribed(schema: JsonSchema): boolean {
  if (typeof schema["description"] === "string" && schema["description"] !== "") return true;
  const choices = (schema["anyOf"] ?? []) as JsonSchema[];
  return "$ref" in schema || "const" in schema || choices.some((choice) => "$ref" in choice);
}

/** The fields without a description, at every depth. */
function undescribed(schema: JsonSchema, place: string): string[] {
  const branches = (schema["anyOf"] ?? []) as JsonSchema[];
  const items = schema["items"] ? [schema["items"] as JsonSchema] : [];
  return [
    ...(isDescribed(schema) ? [] : [place]),
    ...Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>).flatMap(([name, part]) => [
      ...(isDescribed(part) ? [] : [`${place}.${name}`]),
      ...inner(part, `${place}.${name}`),
    ]),
    ...branches.flatMap((branch) => inner(branch, place)),
    ...items.flatMap((item) => inner(item, `${place}[]`)),
  ];
}

/** As above, of a part that needs no description itself. */
const inner = (schema: JsonSchema, place: string) => undescribed({ ...schema, description: "inner" }, place);

const kilobytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value)) / 1024;

describe.each(documents)("the OpenAPI document of the $id", ({ document, ...limits }) => {
  test("is small: nothing is written twice", () => {
    expect(kilobytes(withoutTexts(document))).toBeLessThan(limits.structureKilobytes);
    expect(kilobytes(document)).toBeLessThan(limits.wholeKilobytes);
  });

  test("names the schema of every JSON body", () => {
    const json = bodiesOf(document).filter(({ mediaType }) => mediaType === "application/json");
    expect(json.length).toBeGreaterThan(100);
    const inline = json.filter(({ schema }) => typeof schema["$ref"] !== "string");
    expect(inline.map(({ where }) => where)).toEqual([]);
  });

  test("names every branch of a choice among objects", () => {
    const unnamed = Object.entries(document.components.schemas).filter(([, schema]) =>
      ((schema["anyOf"] ?? []) as JsonSchema[]).some((branch) => branch["properties"] !== undefined),
    );
    expect(unnamed.map(([name]) => name)).toEqual([]);
  });

  test("calls every schema_version an integer", () => {
    const versions = [...JSON.stringify(document).matchAll(/"(?:schema_version|schemaVersion)":(\{.*?\})/g)];
    expect(versions.length).toBeGreaterThan(30);
    expect(versions.filter(([, schema = ""]) => !schema.includes('"type":"integer"'))).toEqual([]);
  });

  test("describes every component, field and parameter", () => {
    const { schemas } = document.components;
    const nothing = Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name));
    const parameters = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ operationId, parameters = [] }) =>
        parameters.flatMap((one) => ("$ref" in one || one.description ? [] : [`${operationId} ${one.name}`])),
      );
    expect(document.components.parameters["Idempotency-Key"]?.description).toBeTruthy();
    expect([...nothing, ...parameters]).toEqual([]);
  });

  test("has an example of every JSON body and event, which its schema accepts", () => {
    const ajv = new Ajv({ strict: false });
    ajv.addSchema({ $id: "document", components: document.components });
    const wanted = bodiesOf(document).flatMap(({ mediaType, schema, "x-item-schema": item }) =>
      mediaType === "application/json" ? [schema] : item ? [item] : [],
    );
    const names = new Set(wanted.map(({ $ref }) => nameIn(String($ref))));
    expect(names.size).toBeGreaterThan(50);
    for (const name of names) {
      const examples = (document.components.schemas[name]?.["examples"] ?? []) as unknown[];
      expect([name, examples.length > 0]).toEqual([name, true]);
      for (const example of examples) {
        const fits = ajv.validate(`document#/components/schemas/${name}`, example);
        expect([name, fits, ajv.errorsText()]).toEqual([name, true, "No errors"]);
      }
    }
  });

  test("reports the schema of the events of each stream, by name", () => {
    const streams = bodiesOf(document).filter(({ mediaType }) => mediaType === "text/event-stream");
    expect(streams.length).toBeGreaterThan(1);
    for (const { where, "x-item-schema": item, "x-event-kinds": kinds } of streams) {
      expect([where, item?.["$ref"]]).toEqual([where, expect.any(String)]);
      expect(Object.keys(kinds ?? {}).length).toBeGreaterThan(1);
    }
  });
});

test("no example is left of a component that is gone", () => {
  const names = new Set(documents.flatMap(({ document }) => Object.keys(document.components.schemas)));
  expect(Object.keys(examples).filter((name) => !names.has(name))).toEqual([]);
});
