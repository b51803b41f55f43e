import { describe, expect, test } from "bun:test";
import { durationRows, percentile, takeTurns } from "../../bench/bench.ts";

describe("percentiles", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  const cases: { id: string; samples: number[]; share: number; want: number }[] = [
    { id: "the median of a hundred is the fiftieth", samples: hundred, share: 0.5, want: 50 },
    { id: "p99 of a hundred is the second largest", samples: hundred, share: 0.99, want: 99 },
    { id: "p99 of three is the largest", samples: [3, 1, 2], share: 0.99, want: 3 },
    { id: "nothing measured is no number", samples: [], share: 0.5, want: Number.NaN },
  ];
  test.each(cases)("$id", ({ samples, share, want }) => expect(percentile(samples, share)).toBe(want));
});

test("contestants take turns, each begins a round as often, the warm-up is not counted", async () => {
  const calls: string[] = [];
  const contestant = (name: string) => ({ name, run: () => calls.push(name) });
  const durations = await takeTurns([contestant("a"), contestant("b")], { rounds: 2, warmUp: 1 });
  expect(calls).toEqual(["a", "b", "b", "a", "a", "b"]);
  expect([durations["a"]?.length, durations["b"]?.length]).toEqual([2, 2]);
});

test("a row beside its limit says how far it is from it", () => {
  expect(durationRows("x", [2, 4], [1, 2])).toMatchObject([
    { metric: "x_p50_ms", value: 2, unit: "ms", limit: 1, ratio: 2 },
    { metric: "x_p99_ms", value: 4, unit: "ms", limit: 2, ratio: 2 },
  ]);
});
