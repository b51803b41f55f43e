import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { builtInProfiles } from "../../../src/services/terminal/profiles/built-in.ts";
import { compilePattern, type Pattern } from "../../../src/services/terminal/profiles/profile-pattern.ts";
import { chooseCases, matrixChoice } from "../../support/matrix.ts";
import { loadCorpus, observe } from "./corpus.ts";

function compiled(source: string): Pattern {
  const result = compilePattern(source);
  if ("problem" in result) throw new Error(`${source}: ${result.problem}`);
  return result.pattern;
}

/** All strings of the profiles that are patterns, and some that merely look like one. */
function shippedPatterns(): string[] {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string") found.add(value);
    else if (value !== null && typeof value === "object") Object.values(value).forEach(look);
  };
  builtInProfiles.forEach(look);
  return [...found].filter((text) => {
    try {
      return new RegExp(text, "u").source !== "";
    } catch {
      return false;
    }
  });
}

describe("a pattern of a profile file", () => {
  test("every pattern that we ship is taken, and reads each recorded row as RegExp does", () => {
    const patterns = shippedPatterns();
    expect(patterns.length).toBeGreaterThan(200);
    const rows = [...new Set(loadCorpus().flatMap((one) => observe(one).rows.map(({ text }) => text)))];
    expect(rows.length).toBeGreaterThan(500);
    for (const source of patterns) compiled(source);
    for (const source of chooseCases(patterns, (text) => text, matrixChoice)) {
      const native = new RegExp(source, "u");
      const own = compiled(source);
      for (const row of rows) {
        const [mine, theirs] = [plain(own.exec(row)), plain(native.exec(row))];
        if (!Bun.deepEquals(mine, theirs)) expect([source, row, mine]).toEqual([source, row, theirs]);
      }
    }
  }, 60_000);

  const atom: fc.Arbitrary<string> = fc.constantFrom(
    "a",
    "b",
    ".",
    "\\d",
    "\\s",
    "[ab]",
    "[^a]",
    "\\u2026",
    "é",
    "😀",
    "\\p{L}",
  );
  const { whole } = fc.letrec<{ whole: string; sequence: string; term: string }>((tie) => ({
    whole: fc.oneof(
      { maxDepth: 4 },
      tie("sequence"),
      fc.tuple(tie("sequence"), tie("whole")).map(([left, right]) => `${left}|${right}`),
    ),
    sequence: fc.array(tie("term"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
    term: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc.constantFrom("^", "$", "\\b", "\\B"),
      fc
        .tuple(atom, fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}"))
        .map((parts) => parts.join("")),
      tie("whole").map((body) => `(${body})`),
      tie("whole").map((body) => `(?:${body})`),
      fc
        .tuple(tie("whole"), fc.constantFrom("*", "+", "?", "*?", "{1,2}"))
        .map(([body, times]) => `(${body})${times}`),
      fc.constantFrom("(?=a)", "(?!b.)", "(?=.*b)"),
    ),
  }));
  const row = fc.array(fc.constantFrom("a", "b", "1", " ", "é", "😀", "…", "\n"), { maxLength: 12 });

  test("matches what RegExp matches, group by group", () => {
    let taken = 0;
    fc.assert(
      fc.property(whole, row, (source, characters) => {
        const result = compilePattern(source);
        if ("problem" in result) return;
        taken += 1;
        const text = characters.join("");
        expect([source, text, plain(result.pattern.exec(text))]).toEqual([
          source,
          text,
          plain(new RegExp(source, "u").exec(text)),
        ]);
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(2000);
  });

  /** Of each the worst row that is known. */
  const catastrophes = [
    { source: "(a+)+$", row: `${"a".repeat(499)}!` },
    { source: "^(a|a)*$", row: `${"a".repeat(499)}!` },
    { source: "(?:a|aa)+$", row: `${"a".repeat(499)}!` },
    { source: "(.*a){20}", row: `${"a".repeat(19)}${"b".repeat(481)}` },
    { source: "(?:x|xx)+y", row: "x".repeat(500) },
    { source: "\\s*\\s*\\s*\\s*\\s*\\s*\\s*\\s*x", row: " ".repeat(500) },
    { source: ".*.*.*.*.*.*=.*", row: "x".repeat(500) },
    { source: `${"a?".repeat(60)}${"a".repeat(60)}b`, row: "a".repeat(500) },
    { source: `${"(?:a|a)".repeat(40)}b`, row: "a".repeat(500) },
    { source: "(?:a{0,30}){0,30}b", row: "a".repeat(500) },
    { source: "^(([a-z])+.)+[A-Z]([a-z])+$", row: "a".repeat(500) },
    { source: "(?=(?:a+)+b)", row: "a".repeat(500) },
    { source: "(?:\\p{L}|\\w)*[^a]é", row: "a".repeat(500) },
  ];
  test.each(catastrophes)(
    "$source is refused, or ends on a row of 500 characters",
    ({ source, row }) => {
      const result = compilePattern(source);
      if ("problem" in result) return expect(result.problem).not.toBe("");
      // With backtracking it would not end.
      expect(result.pattern.test(row)).toBe(false);
    },
    60_000,
  );

  test("most of them are not refused", () => {
    const taken = catastrophes.filter(({ source }) => "pattern" in compilePattern(source));
    expect(taken.length).toBeGreaterThan(9);
  });

  test("a row of a megabyte is looked at as far as its first 2,000 characters", () => {
    expect(compiled("a*b").test(`${"a".repeat(1_000_000)}b`)).toBe(false);
    expect(compiled("^a+").exec("a".repeat(1_000_000))?.[0]).toHaveLength(2000);
  });

  test.each([
    ["(a)\\1", "back references"],
    ["(?<n>a)\\k<n>", "back references"],
    ["(?<=a)b", "look-behind"],
    ["(?<!a)b", "look-behind"],
    ["(?i:a)", "flags in a group"],
    ["(?=(a))", "look-ahead"],
    ["(a*)*", "match nothing"],
    ["(?:a|b?)+", "match nothing"],
    ["(?:a{100}){100}", "too large"],
    ["[", "missing terminating"],
  ])("%s is refused: %s", (source, why) => {
    expect(compilePattern(source)).toEqual({ problem: expect.stringMatching(why) });
  });
});

/** The groups and where they begin, without what else RegExp adds. */
function plain(match: ReturnType<Pattern["exec"]>): unknown {
  return match && { groups: [...match], index: match.index };
}
