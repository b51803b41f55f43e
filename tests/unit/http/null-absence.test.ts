import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { admitNulls, dropNulls } from "../../../src/protocol/null-absence.ts";
import { Nullable, Strict } from "../../../src/protocol/wire.ts";

const inner = Strict({ name: Type.Optional(Type.String()), level: Type.Integer() });
const schema = Type.Union([
  Strict({
    kind: Type.Literal("one"),
    needed: Nullable(Type.String()),
    text: Type.Optional(Nullable(Type.String())),
    items: Type.Optional(Type.Array(inner)),
    choice: Type.Optional(Type.Union([inner, Type.Literal("none")])),
    anything: Type.Optional(Type.Unknown()),
  }),
  Strict({ kind: Type.Literal("two"), other: Type.Optional(Type.Integer()) }),
]);

test.each([
  {
    id: "optional fields at every depth",
    given: {
      kind: "one",
      needed: null,
      text: null,
      items: [{ name: null, level: 1 }],
      choice: { name: null, level: 2 },
      anything: null,
    },
    want: { kind: "one", needed: null, items: [{ level: 1 }], choice: { level: 2 } },
  },
  { id: "a required field stays", given: { kind: "one", needed: null }, want: { kind: "one", needed: null } },
  {
    id: "an unknown field stays",
    given: { kind: "two", surprise: null },
    want: { kind: "two", surprise: null },
  },
  {
    id: "a field of another branch is unknown",
    given: { kind: "two", text: null },
    want: { kind: "two", text: null },
  },
  { id: "what is no object", given: [null], want: [null] },
])("dropNulls: $id", ({ given, want }) => {
  expect(dropNulls(schema, given)).toEqual(want);
});

test("a body that documents admit is valid once its nulls are dropped", () => {
  const sent = admitNulls(schema);
  const body = {
    kind: "one",
    needed: null,
    text: null,
    items: [{ name: null, level: 1 }],
    choice: null,
    anything: null,
  };
  expect(Value.Check(schema, body)).toBe(false);
  expect(Value.Check(sent, body)).toBe(true);
  expect(Value.Check(schema, dropNulls(schema, body))).toBe(true);
  for (const wrong of [
    { kind: "one", text: "x" },
    { kind: "one", needed: null, items: [{ level: null }] },
    { kind: "two", surprise: null },
    { kind: null },
  ]) {
    expect([wrong, Value.Check(sent, wrong)]).toEqual([wrong, false]);
    expect(Value.Check(schema, dropNulls(schema, structuredClone(wrong)))).toBe(false);
  }
});
