import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv/dist/2020.js";
import { allCoordinatorEndpoints } from "../../src/protocol/coordinator-endpoints.ts";
import type { Endpoint } from "../../src/protocol/endpoint.ts";
import { renderJson } from "../../src/protocol/json.ts";
import { coordinatorOpenApi } from "../../src/routes/openapi/documents.ts";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { inProcess } from "../support/http-surface.ts";

const document = coordinatorOpenApi();
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the coordination server's OpenAPI document", () => {
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

  test("holds every declared operation under its name, with a summary, its statuses and its body", () => {
    const declared: Record<string, Endpoint> = allCoordinatorEndpoints;
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

  test("sorts the operations of an agent by what they are about", () => {
    const tagOf = (id: string) => operations.find(({ operationId }) => operationId === id)?.tags;
    expect(["health", "listAgents", "agentMailList", "agentWait", "submitTurn"].map(tagOf)).toEqual([
      ["server"],
      ["agents"],
      ["mail"],
      ["gateway"],
      ["turns"],
    ]);
  });

  test("is what GET /openapi.json answers", async () => {
    await using bundle = createCoordinatorBundle();
    const reply = await inProcess((request) => bundle.app.fetch(request)).request("/openapi.json");
    expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(document)) as never);
  });

  test("is what docs/ holds; otherwise run `bun run docs`", () => {
    const kept = readFileSync(join(import.meta.dirname, "../../docs/openapi.coordinator.json"), "utf8");
    expect(kept === renderJson(document)).toBe(true);
  });
});
