import { expect, test } from "bun:test";
import { judge, type Sample } from "../../support/chaos/soak.ts";

const run = (count: (minute: number) => number): Sample[] =>
  Array.from({ length: 21 }, (_, minute) => ({ atMs: minute * 60_000, counts: { memory: count(minute) } }));
const verdict = (count: (minute: number) => number) =>
  judge(run(count), () => ({ share: 0.1, absolute: 2 }))[0];

test.each([
  { id: "what stands still is flat", count: () => 50, flat: true },
  {
    id: "what warms up and then stands still is flat",
    count: (m: number) => Math.min(m, 8) * 10,
    flat: true,
  },
  { id: "what falls is flat", count: (m: number) => 100 - m, flat: true },
  { id: "noise is flat", count: (m: number) => 50 + (m % 2) * 4, flat: true },
  { id: "a saw of a collector is flat", count: (m: number) => 40 + (m % 4) * 5, flat: true },
  { id: "half a megabyte a minute is a leak", count: (m: number) => 20 + m * 0.5, flat: false },
  { id: "a leak under noise is a leak", count: (m: number) => 50 + m + (m % 2) * 3, flat: false },
  {
    id: "a leak that begins late is a leak",
    count: (m: number) => 50 + Math.max(0, m - 12) * 2,
    flat: false,
  },
])("$id", ({ count, flat }) => {
  expect(verdict(count)?.flat).toBe(flat);
});

test("what nobody tolerates anything of is not judged", () => {
  expect(
    judge(
      run(() => 1),
      () => null,
    ),
  ).toEqual([]);
});

test("the growth is that of the second half", () => {
  expect(verdict((minute) => minute)).toMatchObject({
    first: 10,
    last: 20,
    most: 20,
    growth: 10,
    allowed: 2,
  });
});
