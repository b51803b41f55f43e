import { describe, expect, test } from "bun:test";
import { coordinatorOpenApi } from "../../src/routes/coordinator/openapi.ts";
import { gatewayOpenApi } from "../../src/routes/gateway/openapi.ts";
import type { Content, OpenApiDocument } from "../../src/routes/openapi/document.ts";
import type { JsonSchema } from "../../src/routes/openapi/json-schema.ts";

// What people who generate clients need of the documents: one name for each body, and nothing written twice.

const documents = [
  { id: "gateway", document: gatewayOpenApi(), structureKilobytes: 115, wholeKilobytes: 190 },
  { id: "coordinator", document: coordinatorOpenApi(), structureKilobytes: 155, wholeKilobytes: 240 },
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

  test("tells the schema of the events of each stream, by name", () => {
    const streams = bodiesOf(document).filter(({ mediaType }) => mediaType === "text/event-stream");
    expect(streams.length).toBeGreaterThan(1);
    for (const { where, "x-item-schema": item, "x-event-kinds": kinds } of streams) {
      expect([where, item?.["$ref"]]).toEqual([where, expect.any(String)]);
      expect(Object.keys(kinds ?? {}).length).toBeGreaterThan(10);
    }
  });
});
