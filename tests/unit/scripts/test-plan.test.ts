import { describe, expect, test } from "bun:test";
import {
  groupTests,
  isAwaited,
  longestFirst,
  ofShard,
  planTests,
  readTestWish,
} from "../../../scripts/test-plan.ts";

const none = { parts: [], all: false, changedSince: null, shard: null, case: null };

describe("what was asked for", () => {
  test.each([
    { words: [], want: none },
    { words: ["e2e", "queue"], want: { ...none, parts: ["e2e", "queue"] } },
    { words: ["--all"], want: { ...none, all: true } },
    {
      words: ["--case=before sql:x 1", "faults/a"],
      want: { ...none, case: "before sql:x 1", parts: ["faults/a"] },
    },
    { words: ["--changed"], want: { ...none, changedSince: "HEAD" } },
    { words: ["--changed=main", "unit"], want: { ...none, changedSince: "main", parts: ["unit"] } },
    { words: ["--shard=1/3"], want: { ...none, shard: { index: 1, of: 3 } } },
    {
      words: ["--shard", "3/3", "--changed"],
      want: { ...none, shard: { index: 3, of: 3 }, changedSince: "HEAD" },
    },
  ])("is read from $words", ({ words, want }) => {
    expect(readTestWish(words)).toEqual(want);
  });

  test.each(["--shard", "--shard=0/3", "--shard=4/3", "--shard=a/b", "--shard=1", "--case", "--every"])(
    "is refused as %s",
    (word) => {
      expect(() => readTestWish([word])).toThrow(/expected I\/N|unknown option/);
    },
  );
});

const files = Array.from({ length: 23 }, (_, index) => `tests/unit/${index}.test.ts`);
const timings = { "tests/unit/7.test.ts": 90_000, "tests/unit/3.test.ts": 30_000, "tests/unit/2.test.ts": 1 };

test("the longest files run first, and the order is the same each time", () => {
  const order = longestFirst(files, timings);
  expect(order.slice(0, 2)).toEqual(["tests/unit/7.test.ts", "tests/unit/3.test.ts"]);
  expect(order.at(-1)).toBe("tests/unit/2.test.ts");
  expect(longestFirst([...files].reverse(), timings)).toEqual(order);
});

test.each([1, 2, 3, 7, 40])("each file is in one of %d shards", (of) => {
  const shards = Array.from({ length: of }, (_, index) => ofShard(files, timings, { index: index + 1, of }));
  expect(shards.flat().sort()).toEqual([...files].sort());
});

test("a long file is alone in its shard", () => {
  expect(ofShard(files, timings, { index: 1, of: 2 })).toEqual(["tests/unit/7.test.ts"]);
});

test("each file is in one group, and groups without files are left out", () => {
  const tiers = [
    "unit",
    "simulation",
    "integration/mail",
    "e2e",
    "faults",
    "hostile/two-users",
    "browser",
    "new",
  ];
  const one = tiers.map((tier) => `tests/${tier}/x.test.ts`);
  const groups = groupTests(one, {}, 7);
  expect(groups.flatMap((group) => group.files).sort()).toEqual([...one].sort());
  expect(groups.map(({ name, needsExecutables }) => [name, needsExecutables])).toEqual([
    ["rules", false],
    ["stories", true],
    ["careful stories", true],
  ]);
  expect(groupTests(["tests/unit/x.test.ts"], {}, 7)).toHaveLength(1);
  expect(groupTests(["tests/mutations/x.test.ts"], {}, 7)).toMatchObject([{ name: "stories" }]);
  expect(groupTests(["tests/integration/x.test.ts"], {}, 7)).toMatchObject([{ needsExecutables: false }]);
});

const facts = {
  timings: {},
  promised: new Set(["tests/e2e/promised.test.ts", "tests/browser/promised.test.ts"]),
  hasNeeds: (file: string) => /^tests\/(browser|conformance)\//.test(file),
};

test.each([
  ["tests/unit/a.test.ts", true],
  ["tests/integration/mail/a.test.ts", true],
  ["tests/e2e/promised.test.ts", true],
  ["tests/e2e/other.test.ts", false],
  ["tests/browser/promised.test.ts", false],
  ["tests/conformance/a.test.ts", false],
  ["tests/mutations/a.test.ts", false],
])("whether a person waits for %s: %p", (file, want) => expect(isAwaited(file, facts)).toBe(want));

test("a run of all has each file once and every case of it; else the awaited ones, and a sample", () => {
  const every = ["unit/a", "e2e/promised", "e2e/other", "browser/promised", "mutations/a"].map(
    (path) => `tests/${path}.test.ts`,
  );
  const awaited = planTests(every, facts, false);
  expect(awaited.map(({ name, sampled, files: of }) => [name, sampled, of])).toEqual([
    ["rules", true, ["tests/unit/a.test.ts"]],
    ["stories", true, ["tests/e2e/promised.test.ts"]],
  ]);
  const whole = planTests(every, facts, true);
  expect(whole.map(({ name, sampled }) => [name, sampled])).toEqual([
    ["rules", false],
    ["stories", false],
    ["careful stories", false],
  ]);
  expect(whole.flatMap((group) => group.files).sort()).toEqual([...every].sort());
});
