import { describe, expect, test } from "bun:test";
import { chooseCases, readMatrixChoice, runInLanes } from "../../support/matrix.ts";

const cases = Array.from({ length: 40 }, (_, at) => `case ${at}`);
const choose = (environment: Record<string, string>, of = cases) =>
  chooseCases(of, (one) => one, readMatrixChoice(environment));

describe("the cases that run", () => {
  test("are all when nothing was chosen", () => expect(choose({})).toEqual(cases));
  test("are the one that was asked for", () => {
    expect(choose({ SVC_TEST_CASE: "case 7", SVC_TEST_SAMPLE: "8/a" })).toEqual(["case 7"]);
    expect(choose({ SVC_TEST_CASE: "case 70" })).toEqual([]);
  });
  test("of a sample are so many, the same for a seed and others for another", () => {
    const [first, second] = ["1a2b", "3c4d"].map((seed) => choose({ SVC_TEST_SAMPLE: `8/${seed}` }));
    expect(first).toHaveLength(8);
    expect(choose({ SVC_TEST_SAMPLE: "8/1a2b" })).toEqual(first ?? []);
    expect(second).not.toEqual(first ?? []);
  });
  test("of a sample change by one at the most with a new case", () => {
    const before = choose({ SVC_TEST_SAMPLE: "8/1a2b" });
    const after = choose({ SVC_TEST_SAMPLE: "8/1a2b" }, [...cases, "case 40"]);
    expect(after.filter((one) => !before.includes(one)).length).toBeLessThanOrEqual(1);
  });
  test("are not guessed from a sample that cannot be read", () => {
    expect(() => readMatrixChoice({ SVC_TEST_SAMPLE: "some" })).toThrow("not N/SEED");
  });
});

test("lanes run each item once, so many beside each other, and settle each alone", async () => {
  let running = 0;
  let most = 0;
  const began: number[] = [];
  const results = runInLanes([0, 1, 2, 3, 4], 2, async (item) => {
    began.push(item);
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    if (item === 1) throw new Error("the second");
  });
  const settled = await Promise.allSettled(results);
  expect(settled.map(({ status }) => status === "fulfilled")).toEqual([true, false, true, true, true]);
  expect([began, most]).toEqual([[0, 1, 2, 3, 4], 2]);
});
