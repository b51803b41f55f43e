import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { allCoordinatorEndpoints, coordinatorStreams } from "../../../src/protocol/coordinator-endpoints.ts";
import type { Endpoint } from "../../../src/protocol/endpoint.ts";
import { gatewayEndpoints, streamEndpoints } from "../../../src/protocol/endpoints.ts";

/** Where a schema has an array without a maximum. */
function unboundedArrays(schema: unknown, at: string): string[] {
  if (schema === null || typeof schema !== "object") return [];
  const own = schema as Record<string, unknown>;
  const inner = Object.entries(own).flatMap(([key, value]) => unboundedArrays(value, `${at}.${key}`));
  return own["type"] === "array" && own["maxItems"] === undefined ? [at, ...inner] : inner;
}

const endpoints: [string, Endpoint][] = Object.entries({
  ...gatewayEndpoints,
  ...streamEndpoints,
  ...allCoordinatorEndpoints,
  ...coordinatorStreams,
});

test.each(endpoints)("%s: every array in its schemas has a maximum", (_name, endpoint) => {
  const { query, body, response, errors } = endpoint;
  expect(unboundedArrays({ query, body, response, errors }, "")).toEqual([]);
});

test.each(endpoints)("%s: no schema has the validator compare items, byte by byte", (_name, endpoint) => {
  const { query, body, response, errors } = endpoint;
  expect(JSON.stringify({ query, body, response, errors })).not.toContain("uniqueItems");
});

test("an array without a maximum is found wherever it is", () => {
  const schema = Type.Object({
    deep: Type.Union([Type.Null(), Type.Array(Type.Array(Type.String()), { maxItems: 2 })]),
  });
  expect(unboundedArrays(schema, "")).toEqual([".properties.deep.anyOf.1.items"]);
  expect(endpoints.length).toBeGreaterThan(60);
});
