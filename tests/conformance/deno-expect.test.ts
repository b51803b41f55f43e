import { expect as bun, describe, test } from "bun:test";
import { expect as deno } from "../support/deno/expect.ts";

type Matcher = Exclude<keyof ReturnType<typeof deno>, "not">;
type Patterns = Pick<
  typeof deno,
  "any" | "arrayContaining" | "objectContaining" | "stringContaining" | "stringMatching"
>;
type Case = [actual: unknown, matcher: Matcher, expected: (patterns: Patterns) => unknown];

/** Cases of both kinds, those that hold and those that do not: the answer is Bun's. */
const cases: Case[] = [
  [1, "toBe", () => 1],
  [1, "toBe", () => "1"],
  [Number.NaN, "toBe", () => Number.NaN],
  [{ a: 1 }, "toBe", () => ({ a: 1 })],
  [{ a: 1, b: undefined }, "toEqual", () => ({ a: 1 })],
  [{ a: 1 }, "toEqual", () => ({ a: 1, b: undefined })],
  [{ a: 1 }, "toEqual", () => ({ a: 1, b: null })],
  [{ a: 1 }, "toEqual", () => ({})],
  [{}, "toEqual", () => ({ a: 1 })],
  [[1, 2], "toEqual", () => [1, 2]],
  [[1, 2], "toEqual", () => [1]],
  [[1], "toEqual", () => [1, 2]],
  [[], "toEqual", () => ({})],
  [null, "toEqual", () => undefined],
  [null, "toEqual", () => ({})],
  [{ a: { b: [1, { c: 2 }] } }, "toEqual", () => ({ a: { b: [1, { c: 2 }] } })],
  [{ a: { b: [1, { c: 2 }] } }, "toEqual", () => ({ a: { b: [1, { c: 3 }] } })],
  [new Error("x"), "toEqual", () => new Error("x")],
  [new Error("x"), "toEqual", () => new Error("y")],
  [{ a: 1, b: 2 }, "toMatchObject", () => ({ a: 1 })],
  [{ a: 1, b: 2 }, "toMatchObject", () => ({ a: 2 })],
  [{ a: 1 }, "toMatchObject", () => ({ b: undefined })],
  [{ a: [{ b: 1, c: 2 }] }, "toMatchObject", () => ({ a: [{ b: 1 }] })],
  [{ a: [{ b: 1 }, { b: 2 }] }, "toMatchObject", () => ({ a: [{ b: 1 }] })],
  [[1, 2], "toHaveLength", () => 2],
  ["abc", "toHaveLength", () => 2],
  [[1, 2], "toContain", () => 2],
  [[1, 2], "toContain", () => 3],
  [[{ a: 1 }], "toContain", () => ({ a: 1 })],
  [new Set(["a"]), "toContain", () => "a"],
  [new Set(["a"]), "toContain", () => "b"],
  ["a text", "toContain", () => "tex"],
  ["a text", "toContain", () => "txe"],
  [2, "toBeGreaterThan", () => 1],
  [1, "toBeGreaterThan", () => 1],
  [[{ a: 1 }], "toContainEqual", () => ({ a: 1 })],
  [[{ a: 1 }], "toContainEqual", () => ({ a: 2 })],
  [{ a: undefined }, "toHaveProperty", () => "a"],
  [{ a: 1 }, "toHaveProperty", () => "b"],
  [2, "toBeGreaterThanOrEqual", () => 2],
  [1, "toBeGreaterThanOrEqual", () => 2],
  [1, "toBeLessThan", () => 2],
  [2, "toBeLessThan", () => 2],
  [2, "toBeLessThanOrEqual", () => 2],
  [3, "toBeLessThanOrEqual", () => 2],
  [null, "toBeNull", () => undefined],
  [undefined, "toBeNull", () => undefined],
  [undefined, "toBeUndefined", () => undefined],
  [null, "toBeUndefined", () => undefined],
  [true, "toBeTrue", () => undefined],
  [1, "toBeTrue", () => undefined],
  [false, "toBeFalse", () => undefined],
  [0, "toBeFalse", () => undefined],
  ["", "toBeString", () => undefined],
  [1, "toBeString", () => undefined],
  [new TypeError("x"), "toBeInstanceOf", () => Error],
  [{}, "toBeInstanceOf", () => Error],
  ["abc", "toEndWith", () => "bc"],
  ["abc", "toEndWith", () => "ab"],
  ["abc", "toStartWith", () => "ab"],
  ["abc", "toStartWith", () => "b"],
  ["abc", "toMatch", () => /B/i],
  ["abc", "toMatch", () => /B/],
  ["abc", "toMatch", () => "bc"],
  [undefined, "toBeDefined", () => undefined],
  [null, "toBeDefined", () => undefined],
  [() => 1, "toBeFunction", () => undefined],
  [1, "toBeFunction", () => undefined],
  ["x", "toEqual", ({ any }) => any(String)],
  [1, "toEqual", ({ any }) => any(String)],
  [{ n: 1 }, "toEqual", ({ any }) => ({ n: any(Number) })],
  [[1, 2, 3], "toEqual", ({ arrayContaining }) => arrayContaining([3, 1])],
  [[1, 2, 3], "toEqual", ({ arrayContaining }) => arrayContaining([4])],
  [[{ a: 1, b: 2 }], "toEqual", ({ objectContaining }) => [objectContaining({ a: 1 })]],
  [[{ a: 1, b: 2 }], "toEqual", ({ objectContaining }) => [objectContaining({ a: 2 })]],
  [{ t: "hello" }, "toEqual", ({ stringContaining }) => ({ t: stringContaining("ell") })],
  [{ t: "hello" }, "toEqual", ({ stringContaining }) => ({ t: stringContaining("hex") })],
  ["hello", "toEqual", ({ stringMatching }) => stringMatching(/^h.*o$/)],
  ["hello!", "toEqual", ({ stringMatching }) => stringMatching(/^h.*o$/)],
];

const holds = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

type Reported = Record<Matcher, (expected?: unknown) => void>;

describe("the expect that stands in for Bun's under Deno judges as Bun's does", () => {
  test.each(cases.map(([actual, matcher, expected], index) => ({ index, actual, matcher, expected })))(
    "$matcher, case $index",
    ({ actual, matcher, expected }) => {
      const told = (expectIn: ((value: unknown) => unknown) & Patterns) => {
        const matchers = expectIn(actual) as Reported & { not: Reported };
        return [
          holds(() => matchers[matcher](expected(expectIn))),
          holds(() => matchers.not[matcher](expected(expectIn))),
        ];
      };
      bun(told(deno)).toEqual(told(bun as unknown as typeof deno));
    },
  );

  test("of the cases many hold and many do not", () => {
    const holding = cases.filter(([actual, matcher, expected]) =>
      holds(() => deno(actual)[matcher](expected(deno))),
    ).length;
    bun(Math.min(holding, cases.length - holding)).toBeGreaterThan(20);
  });
});
