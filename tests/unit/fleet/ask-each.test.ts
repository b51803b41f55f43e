import { expect, test } from "bun:test";
import { askEach } from "../../../src/services/fleet/ask-each.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

test("answers in the order of the asked, 32 at a time, with `late` for one that hangs", async () => {
  const clock = createFakeClock();
  const asked = Array.from({ length: 70 }, (_, at) => at);
  const signals = new Map<number, AbortSignal>();
  let open = 0;
  let most = 0;
  const answers = askEach<number, string | null>(asked, {
    clock,
    eachMs: 1000,
    async ask(one, signal) {
      signals.set(one, signal);
      open += 1;
      most = Math.max(most, open);
      if (one === 3) await new Promise(() => {});
      await new Promise<void>((resolve) => clock.after(100 - one, resolve));
      open -= 1;
      return one === 4 ? null : `answer ${one}`;
    },
    late: (one) => `late ${one}`,
  });
  await clock.advance(2000);
  const wanted = asked.map((one) => (one === 3 ? "late 3" : one === 4 ? null : `answer ${one}`));
  expect(await answers).toEqual(wanted);
  expect([most, open]).toEqual([32, 1]);
  expect(asked.filter((one) => signals.get(one)?.aborted)).toEqual([3]);
  expect(clock.pending()).toBe(0);
});

test("asks nobody after the time for all is over, and rejects when a question does", async () => {
  const clock = createFakeClock();
  const asked: number[] = [];
  const ends = askEach<number, string>([...Array(40).keys()], {
    clock,
    eachMs: 1000,
    allMs: 500,
    ask(one) {
      asked.push(one);
      return new Promise(() => {});
    },
    late: async () => "late",
  });
  await clock.advance(500);
  expect(await ends).toEqual(Array(40).fill("late"));
  expect(asked).toHaveLength(32);
  const broken = askEach([1], {
    clock,
    eachMs: 1,
    ask: () => Promise.reject(new Error("no")),
    late: () => "",
  });
  await expect(broken).rejects.toThrow("no");
  expect(await askEach([], { clock, eachMs: 1, ask: async () => 1, late: () => 2 })).toEqual([]);
});
