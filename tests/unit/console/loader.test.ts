import { expect, test } from "bun:test";
import { createLoader } from "../../../src/console/client/loader.ts";
import { settle } from "../../support/fake-clock.ts";

function setup(options: { concurrency: number; maxIds?: number }) {
  const asked: string[][] = [];
  const answers: (() => void)[] = [];
  const loader = createLoader({
    gapMs: 60_000,
    ...options,
    load(...ids) {
      asked.push(ids);
      return new Promise((resolve) => {
        answers.push(resolve);
      });
    },
  });
  const answer = async () => {
    answers.shift()?.();
    await settle();
  };
  return { loader, asked, answer };
}

test("ids that are wanted during a request are the next one, and an id that was just loaded rests", async () => {
  const { loader, asked, answer } = setup({ concurrency: 1, maxIds: 3 });
  loader.want("a");
  loader.want("b", "c");
  loader.want("d", "e", "a");
  expect(asked).toEqual([["a"]]);
  await answer();
  expect(asked).toEqual([["a"], ["b", "c", "d"]]);
  await answer();
  await answer();
  expect(asked).toEqual([["a"], ["b", "c", "d"], ["e"]]);
  loader.clear();
});

test("a request without a number of ids takes one", async () => {
  const { loader, asked, answer } = setup({ concurrency: 2 });
  loader.want("a", "b", "c");
  expect(asked).toEqual([["a"], ["b"]]);
  await answer();
  expect(asked).toEqual([["a"], ["b"], ["c"]]);
  loader.clear();
});
