import { describe, expect, test } from "bun:test";
import { type ApiDocument, renderApiPage } from "../../../scripts/api/page.ts";
import { fieldsOf, typeOf } from "../../../scripts/api/schema.ts";
import { coordinatorOpenApi } from "../../../src/routes/coordinator/openapi.ts";
import { gatewayOpenApi } from "../../../src/routes/gateway/openapi.ts";

const gateway = gatewayOpenApi() as unknown as ApiDocument;
const coordinator = coordinatorOpenApi() as unknown as ApiDocument;
const gatewayPage = renderApiPage(gateway, { title: "A gateway", about: "About." });
const pages = [
  { id: "a gateway", document: gateway, page: gatewayPage },
  {
    id: "the coordination server",
    document: coordinator,
    page: renderApiPage(coordinator, {
      title: "The server",
      about: "About.",
      elsewhere: { document: gateway, page: "api-gateway.md", title: "of a gateway" },
    }),
  },
];

const anchorsOf = (page: string) =>
  new Set(
    [...page.matchAll(/^#+ (.*)$/gm)].map((match) =>
      (match[1] ?? "")
        .toLowerCase()
        .replace(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    ),
  );

describe.each(pages)("the page of $id", ({ document, page }) => {
  test("tells every operation once", () => {
    const told = [...page.matchAll(/^### ([A-Z]+ \/\S*)$/gm)].map((match) => match[1] ?? "");
    const declared = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(told.toSorted()).toEqual(declared.toSorted());
  });

  test("has every place that it links to", () => {
    const here = anchorsOf(page);
    const missing = [...page.matchAll(/\]\(#([^)]+)\)/g)].filter((match) => !here.has(match[1] ?? ""));
    expect(missing.map((match) => match[0])).toEqual([]);
    const there = anchorsOf(gatewayPage);
    const elsewhere = [...page.matchAll(/\]\(api-gateway\.md#([^)]+)\)/g)];
    expect(elsewhere.filter((match) => !there.has(match[1] ?? "")).map((match) => match[0])).toEqual([]);
  });
});

test("what the server forwards with the bodies of a gateway is told there", () => {
  expect(pages[1]?.page).toContain(
    "those of [POST `/v1/mail/send`](api-gateway.md#post-v1mailsend) of a gateway",
  );
});

describe("a type in words", () => {
  const cases = [
    { schema: { $ref: "#/components/schemas/Waiting" }, want: "[Waiting](#waiting)" },
    { schema: { enum: ["yes", "no"], type: "string" }, want: "`yes` or `no`" },
    {
      schema: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
      want: "integer, at least 1 or null",
    },
    {
      schema: { type: "array", items: { type: "string" }, maxItems: 3 },
      want: "list of string, at most 3 of them",
    },
    {
      schema: { type: "string", minLength: 1, maxLength: 9 },
      want: "string, not empty, at most 9 characters",
    },
    { schema: { type: "object", additionalProperties: { type: "number" } }, want: "object of number" },
    { schema: { type: "string", const: "" }, want: '`""`' },
  ];
  test.each(cases)("$want", ({ schema, want }) => {
    expect(typeOf(schema)).toBe(want);
  });
});

test("fields of objects in lists are told with their whole name", () => {
  const inner = {
    type: "object",
    properties: { b: { type: "string", description: "told" } },
    required: ["b"],
  };
  const schema = { properties: { a: { type: "array", items: inner } } };
  expect(fieldsOf(schema)).toEqual([
    { name: "a", type: "list of object", optional: true, told: "" },
    { name: "a[].b", type: "string", optional: false, told: "told" },
  ]);
});
