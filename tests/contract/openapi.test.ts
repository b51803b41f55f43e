import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "@sinclair/typebox";
import Ajv from "ajv/dist/2020.js";
import { documentEndpoints } from "../../src/protocol/core-endpoints.ts";
import type { Endpoint } from "../../src/protocol/endpoint.ts";
import { gatewayEndpoints, streamEndpoints } from "../../src/protocol/endpoints.ts";
import { eventKinds } from "../../src/protocol/events.ts";
import { renderJson } from "../../src/protocol/json.ts";
import { gatewayOpenApi } from "../../src/routes/openapi/documents.ts";
import { createSchemaWriter } from "../../src/routes/openapi/json-schema.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { inProcess } from "../support/http-surface.ts";

const document = gatewayOpenApi();
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the gateway's OpenAPI document", () => {
  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as object as Record<string, unknown>);
    expect([result.valid, result.errors, validator.version]).toEqual([true, undefined, "3.1"]);
  });

  test("each of its schemas compiles as JSON Schema 2020-12 and each of its references leads somewhere", () => {
    const ajv = new Ajv({ strict: true });
    ajv.addVocabulary(["components"]);
    ajv.addSchema({ $id: "document", components: document.components }, "document");
    for (const name of Object.keys(document.components.schemas)) {
      expect(ajv.getSchema(`document#/components/schemas/${name}`), name).toBeFunction();
    }
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(100);
    for (const [reference, section, name] of references) {
      const found = document.components[section as "schemas"]?.[name ?? ""];
      expect(found, reference).toBeDefined();
    }
  });

  test("a schema of it accepts and refuses what the route accepts and refuses", () => {
    const ajv = new Ajv({ strict: false });
    const check = ajv.compile({ ...document, $ref: "#/components/schemas/GatewayRequest" });
    const submit = (payload: object) => ({ schema_version: 1, kind: "submit_prompt", payload });
    expect(check(submit({ prompt: "x", delivery: "immediate" }))).toBe(true);
    expect(check({ kind: "interrupt" })).toBe(true);
    for (const wrong of [submit({ prompt: " " }), submit({ prompt: 5 }), submit({ prompt: "x", more: 1 })]) {
      expect(check(wrong)).toBe(false);
    }
  });

  test("holds every declared operation under its name, with a summary, its statuses and its body", () => {
    const declared: Record<string, Endpoint> = {
      ...gatewayEndpoints,
      ...streamEndpoints,
      ...documentEndpoints,
    };
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(declared).sort());
    for (const operation of operations) {
      const endpoint = declared[operation.operationId];
      const statuses = [endpoint?.status, ...Object.keys(endpoint?.errors ?? {})].map(String);
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining([...statuses, "403", "421", "500"]),
      );
      expect(operation.summary).not.toBe("");
      expect(operation.requestBody !== undefined).toBe(endpoint?.body !== null);
    }
  });

  test("asks for a bearer token everywhere but on /health and for itself", () => {
    const open = operations.filter(({ security }) => security?.length === 0);
    expect(open.map(({ operationId }) => operationId)).toEqual([
      "health",
      "openApiDocument",
      "referencePage",
    ]);
    expect(document.security).toEqual([{ bearer: [] }, {}]);
    expect(document.components.securitySchemes["bearer"]).toMatchObject({ type: "http", scheme: "bearer" });
  });

  test("describes the events of the stream: each kind, the item, and that none goes by the default name", () => {
    const stream = operations.find(({ operationId }) => operationId === "events");
    const reply = stream?.responses["200"] as { content: Record<string, Record<string, unknown>> };
    const { "x-item-schema": item, "x-event-kinds": kinds } = reply.content["text/event-stream"] ?? {};
    expect(item).toEqual({ $ref: "#/components/schemas/GatewayEvent" });
    expect(Object.keys(kinds ?? {})).toEqual(Object.keys(eventKinds));
    expect(stream?.description).toContain("no default `message` event");
  });

  test("is what GET /openapi.json answers", async () => {
    await using bundle = createGatewayBundle();
    const reply = await inProcess((request) => bundle.app.fetch(request)).request("/openapi.json");
    expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(document)) as never);
  });

  test("is what docs/ holds; otherwise run `bun run docs`", () => {
    const kept = readFileSync(join(import.meta.dirname, "../../docs/openapi.gateway.json"), "utf8");
    expect(kept === renderJson(document)).toBe(true);
  });
});

describe("a schema is written", () => {
  const Color = Type.Union([Type.Literal("red"), Type.Literal("blue")], { description: "a colour" });
  const Tree = Type.Object({ color: Color, other: Type.Optional(Color) });
  const writer = () => createSchemaWriter({ Color, Tree });

  test("once, under its name, also where it is optional or described otherwise", () => {
    const one = writer();
    expect(one.write(Type.Object({ tree: Tree, mine: { ...Color, description: "mine" } }))).toMatchObject({
      properties: {
        tree: { $ref: "#/components/schemas/Tree" },
        mine: { $ref: "#/components/schemas/Color", description: "mine" },
      },
    });
    expect(one.components()["Tree"]).toMatchObject({
      properties: {
        color: { $ref: "#/components/schemas/Color" },
        other: { $ref: "#/components/schemas/Color" },
      },
    });
  });

  test("a closed set of words is an enum, a record reports the shape of its values", () => {
    const one = writer();
    one.write(Color);
    expect(one.components()["Color"]).toEqual({
      type: "string",
      enum: ["red", "blue"],
      description: "a colour",
    });
    expect(one.write(Type.Record(Type.String(), Type.Integer()))).toEqual({
      type: "object",
      additionalProperties: { type: "integer" },
    });
  });
});
