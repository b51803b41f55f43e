import { describe, expect, test } from "bun:test";
import { createGlance } from "../../../src/services/terminal/glance.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function begun({ fails = false } = {}) {
  const clock = createFakeClock();
  const answers: (() => void)[] = [];
  const glance = createGlance({
    clock,
    sample: () =>
      new Promise((resolve, reject) => {
        answers.push(() => (fails ? reject(new Error("no terminal")) : resolve(null)));
      }),
  });
  glance.begin();
  return { clock, glance, answers };
}

describe("a glance", () => {
  test("counts once for whoever looks next", async () => {
    const { glance, answers } = begun();
    const taken = glance.take();
    answers[0]?.();
    expect(await taken).toBe(true);
    expect(await glance.take()).toBe(false);
  });

  test("is not begun a second time while it counts", () => {
    const { glance, answers } = begun();
    glance.begin();
    expect(answers).toHaveLength(1);
  });

  test("does not count once the pane has written, be it while it is waited for", async () => {
    const early = begun();
    early.glance.spoil();
    expect(await early.glance.take()).toBe(false);
    const late = begun();
    const taken = late.glance.take();
    late.glance.spoil();
    late.answers[0]?.();
    expect(await taken).toBe(false);
  });

  test("does not count when it is older than ten milliseconds, or failed", async () => {
    const old = begun();
    old.answers[0]?.();
    await old.clock.advance(11);
    expect(await old.glance.take()).toBe(false);
    const failed = begun({ fails: true });
    const taken = failed.glance.take();
    failed.answers[0]?.();
    expect(await taken).toBe(false);
  });
});
