/**
 * The part of Bun's `expect` that the contract tests speak, for a runtime without it. What it takes and
 * refuses is compared with Bun's own in tests/conformance/deno-expect.test.ts.
 */

/** Stands in an expected value for all values that fit. */
class Pattern {
  readonly fits: (actual: unknown) => boolean;
  readonly #told: string;

  constructor(fits: (actual: unknown) => boolean, told: string) {
    this.fits = fits;
    this.#told = told;
  }

  toJSON() {
    return this.#told;
  }
}

type Rule = "equal" | "match";

/** `equal`: undefined fields count as absent; `match`: the actual value may have more fields. */
function same(actual: unknown, expected: unknown, rule: Rule): boolean {
  if (expected instanceof Pattern) return expected.fits(actual);
  if (Object.is(actual, expected)) return true;
  if (!isObject(actual) || !isObject(expected)) return false;
  if (Array.isArray(actual) || Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      Array.isArray(expected) &&
      actual.length === expected.length &&
      expected.every((item, index) => same(actual[index], item, rule))
    );
  }
  if (actual instanceof Error && expected instanceof Error) return actual.message === expected.message;
  const keysOf = (value: Record<string, unknown>) =>
    Object.keys(value).filter((key) => value[key] !== undefined);
  const wanted = rule === "match" ? Object.keys(expected) : keysOf(expected);
  if (rule !== "match" && keysOf(actual).length !== wanted.length) return false;
  return wanted.every((key) => {
    if (rule === "match" && !(key in actual)) return false;
    return same(actual[key], expected[key], rule);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const told = (value: unknown) =>
  typeof value === "function" ? `function ${value.name}` : (JSON.stringify(value, null, 1) ?? String(value));

const matchers = {
  toBe: (actual: unknown, expected: unknown) => Object.is(actual, expected),
  toEqual: (actual: unknown, expected: unknown) => same(actual, expected, "equal"),
  toMatchObject: (actual: unknown, expected: unknown) => same(actual, expected, "match"),
  toHaveLength: (actual: unknown, length: unknown) => (actual as { length: unknown }).length === length,
  toContain: (actual: unknown, item: unknown) =>
    [...(actual as Iterable<unknown>)].includes(item) ||
    (typeof actual === "string" && actual.includes(String(item))),
  toContainEqual: (actual: unknown, item: unknown) =>
    [...(actual as Iterable<unknown>)].some((one) => same(one, item, "equal")),
  toHaveProperty: (actual: unknown, key: unknown) => isObject(actual) && (key as string) in actual,
  toBeGreaterThan: (actual: unknown, bound: unknown) => (actual as number) > (bound as number),
  toBeGreaterThanOrEqual: (actual: unknown, bound: unknown) => (actual as number) >= (bound as number),
  toBeLessThan: (actual: unknown, bound: unknown) => (actual as number) < (bound as number),
  toBeLessThanOrEqual: (actual: unknown, bound: unknown) => (actual as number) <= (bound as number),
  toBeNull: (actual: unknown) => actual === null,
  toBeUndefined: (actual: unknown) => actual === undefined,
  toBeTrue: (actual: unknown) => actual === true,
  toBeFalse: (actual: unknown) => actual === false,
  toBeString: (actual: unknown) => typeof actual === "string",
  toBeInstanceOf: (actual: unknown, type: unknown) => actual instanceof (type as new () => unknown),
  toEndWith: (actual: unknown, end: unknown) => (actual as string).endsWith(end as string),
  toStartWith: (actual: unknown, start: unknown) => (actual as string).startsWith(start as string),
  toMatch: (actual: unknown, pattern: unknown) =>
    pattern instanceof RegExp
      ? pattern.test(actual as string)
      : (actual as string).includes(pattern as string),
  toBeDefined: (actual: unknown) => actual !== undefined,
  toBeFunction: (actual: unknown) => typeof actual === "function",
} satisfies Record<string, (actual: unknown, expected: unknown) => boolean>;

type Matchers = Record<keyof typeof matchers, (expected?: unknown) => void>;

function matchersFor(actual: unknown, negated: boolean): Matchers {
  const checks = Object.entries(matchers).map(([name, holds]) => [
    name,
    (expected?: unknown) => {
      if (holds(actual, expected) !== negated) return;
      throw new Error(
        `expected ${negated ? "not " : ""}${name}\n${told(expected)}\nreceived\n${told(actual)}`,
      );
    },
  ]);
  return Object.fromEntries(checks) as Matchers;
}

export const expect = Object.assign(
  (actual: unknown) => ({ ...matchersFor(actual, false), not: matchersFor(actual, true) }),
  {
    any: (type: unknown) =>
      new Pattern(
        (actual) =>
          (type === String && typeof actual === "string") ||
          (type === Number && typeof actual === "number") ||
          (type === Boolean && typeof actual === "boolean") ||
          (type === Object && isObject(actual)) ||
          actual instanceof (type as new () => unknown),
        `any ${(type as { name: string }).name}`,
      ),
    arrayContaining: (items: unknown[]) =>
      new Pattern(
        (actual) =>
          Array.isArray(actual) && items.every((item) => actual.some((one) => same(one, item, "equal"))),
        `an array with ${told(items)}`,
      ),
    objectContaining: (fields: Record<string, unknown>) =>
      new Pattern(
        (actual) =>
          isObject(actual) &&
          Object.keys(fields).every((key) => key in actual && same(actual[key], fields[key], "equal")),
        `an object with ${told(fields)}`,
      ),
    stringContaining: (part: string) =>
      new Pattern((actual) => typeof actual === "string" && actual.includes(part), `a text with ${part}`),
    stringMatching: (pattern: RegExp | string) =>
      new Pattern(
        (actual) => typeof actual === "string" && new RegExp(pattern).test(actual),
        `a text like ${pattern}`,
      ),
  },
);
