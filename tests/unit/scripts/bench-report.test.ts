import { describe, expect, test } from "bun:test";
import { renderDocument } from "../../../scripts/bench/document.ts";
import type { BenchResult } from "../../../scripts/bench/figures.ts";
import { type Meaning, meanings, reaches } from "../../../scripts/bench/meaning.ts";
import { renderPicture } from "../../../scripts/bench/picture.ts";
import { durationRows, type Row } from "../../bench/bench.ts";

const machine = { cpu: "2 x Invented", bun: "bun 0" };

function resultsWith(...rows: Row[]): BenchResult[] {
  return [{ name: "deliver", machine, rows }];
}

const delivered = durationRows((percent) => `${percent}_ms`, [4, 5, 6, 7], [1, 1, 1, 2]);

describe("an aim", () => {
  const plain: Meaning = { bench: "b", metric: "m", title: "t", what: "w" };
  const meaning = (aim: NonNullable<Meaning["aim"]>): Meaning => ({ ...plain, aim });

  test("of a value is reached at it, and not above it", () => {
    const atMost = meaning({ of: "value", atMost: 5 });
    expect(reaches(atMost, { value: 5 })).toBe(true);
    expect(reaches(atMost, { value: 5.1 })).toBe(false);
  });

  test("of a ratio looks at the ratio alone", () => {
    const atLeast = meaning({ of: "ratio", atLeast: 0.6 });
    expect(reaches(atLeast, { value: 9, ratio: 0.5 })).toBe(false);
    expect(reaches(atLeast, { value: 0.1, ratio: 0.6 })).toBe(true);
    expect(reaches(atLeast, { value: 9 })).toBeNull();
  });

  test("that is none is neither reached nor missed", () => {
    expect(reaches(plain, { value: 1 })).toBeNull();
  });
});

test("a figure has one meaning", () => {
  const names = meanings.map(({ bench, metric }) => `${bench} ${metric}`);
  expect(new Set(names).size).toBe(names.length);
});

test("durations report their distribution with the median", () => {
  const [median, slowest] = durationRows("x", [3, 1, 2], [1]);
  expect(median).toMatchObject({ metric: "x_p50_ms", value: 2, limit: 1, ratio: 2 });
  expect(median?.quantiles?.ours).toEqual([1, 1, 1, 1, 2, 3, 3, 3, 3]);
  expect(slowest?.quantiles).toBeUndefined();
});

test("the document sets a figure beside its limit, its aim and the run before", () => {
  const before = resultsWith({ metric: "p50_ms", value: 8.4, unit: "ms" });
  const text = renderDocument(resultsWith(...delivered), before, false);
  const [line] = text.split("\n").filter((one) => one.startsWith("| deliver `p50_ms`"));
  expect(line?.split(" | ").slice(2)).toEqual(["8.4 ms", "5 ms", "1 ms", "5", "≤ 3 ms", "**no** |"]);
  expect(text).toContain("2 x Invented, bun 0");
  expect(text).not.toContain("quick run");
  expect(renderDocument(resultsWith(...delivered), before, true)).toContain("quick run");
});

test("the picture has a bar for a ratio and both distributions, within its frame", () => {
  const svg = renderPicture(resultsWith(...delivered));
  expect(svg.match(/<rect class="ours"/g)).toHaveLength(1);
  expect(svg.match(/<circle class="ours" cx="[\d.]+" cy="[\d.]+" r="4"/g)).toHaveLength(2);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  const [, width = 0] = /viewBox="0 0 (\d+)/.exec(svg)?.map(Number) ?? [];
  for (const [, x] of svg.matchAll(/ (?:x|x1|x2|cx)="([^"]+)"/g)) {
    expect(Number(x)).toBeGreaterThanOrEqual(0);
    expect(Number(x)).toBeLessThanOrEqual(width);
  }
});
