import { describe, expect, test } from "bun:test";
import { createReadAhead } from "../../../src/services/terminal/tmux/pane-reader.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function begun({ fails = false } = {}) {
  const clock = createFakeClock();
  const answers: (() => void)[] = [];
  const readAhead = createReadAhead({
    clock,
    sample: () =>
      new Promise((resolve, reject) => {
        answers.push(() => (fails ? reject(new Error("no terminal")) : resolve(null)));
      }),
  });
  readAhead.begin();
  return { clock, readAhead, answers };
}

describe("a read ahead", () => {
  test("counts once for the next look", async () => {
    const { readAhead, answers } = begun();
    const taken = readAhead.take();
    answers[0]?.();
    expect(await taken).toBe(true);
    expect(await readAhead.take()).toBe(false);
  });

  test("is not begun a second time while it counts", () => {
    const { readAhead, answers } = begun();
    readAhead.begin();
    expect(answers).toHaveLength(1);
  });

  test("does not count once the pane has written, be it while it is waited for", async () => {
    const early = begun();
    early.readAhead.invalidate();
    expect(await early.readAhead.take()).toBe(false);
    const late = begun();
    const taken = late.readAhead.take();
    late.readAhead.invalidate();
    late.answers[0]?.();
    expect(await taken).toBe(false);
  });

  test("does not count when it is older than ten milliseconds, or failed", async () => {
    const old = begun();
    old.answers[0]?.();
    await old.clock.advance(11);
    expect(await old.readAhead.take()).toBe(false);
    const failed = begun({ fails: true });
    const taken = failed.readAhead.take();
    failed.answers[0]?.();
    expect(await taken).toBe(false);
  });
});
