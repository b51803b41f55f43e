import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { createCompiledChecks } from "../../../src/services/fleet/compiled-checks.ts";

test("a check says the same before and after it was compiled", () => {
  const schema = Type.Object(
    { count: Type.Integer({ minimum: 1 }), name: Type.Union([Type.String(), Type.Null()]) },
    { additionalProperties: false },
  );
  const values = [
    { count: 1, name: "x" },
    { count: 1, name: null },
    { count: 0, name: null },
    { count: 1 },
    { count: 1, name: "x", more: true },
    null,
  ];
  const check = createCompiledChecks();
  const rounds = Array.from({ length: 20 }, () => values.map((value) => check(schema, value)));
  const expected = values.map((value) => Value.Check(schema, value));
  expect(expected).toEqual([true, true, false, false, false, false]);
  expect(rounds).toEqual(rounds.map(() => expected));
});
