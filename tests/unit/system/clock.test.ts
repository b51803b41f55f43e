import { describe, expect, test } from "bun:test";
import { withinTime } from "../../../src/system/clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

describe("work within a time", () => {
  test("gives its value, and leaves no timer", async () => {
    const clock = createFakeClock();
    const work = Promise.withResolvers<string>();
    const asked = withinTime(clock, 1000, work.promise);
    await clock.advance(999);
    work.resolve("done");
    expect(await asked).toBe("done");
    expect(clock.pending()).toBe(0);
  });

  test("is null when the time is over, whatever becomes of it later", async () => {
    const clock = createFakeClock();
    const work = Promise.withResolvers<string>();
    const asked = withinTime(clock, 1000, work.promise);
    await clock.advance(1000);
    expect(await asked).toBeNull();
    work.reject(new Error("too late for anybody"));
    expect(clock.pending()).toBe(0);
  });

  test("fails with its error, and leaves no timer", async () => {
    const clock = createFakeClock();
    const asked = withinTime(clock, 1000, Promise.reject(new Error("broken")));
    await expect(asked).rejects.toThrow("broken");
    expect(clock.pending()).toBe(0);
  });

  test("is null at once when its signal aborts, and leaves no timer", async () => {
    const clock = createFakeClock();
    const stop = new AbortController();
    const asked = withinTime(clock, 1000, new Promise<string>(() => {}), stop.signal);
    stop.abort();
    expect(await asked).toBeNull();
    expect(clock.pending()).toBe(0);
  });

  test("under a signal that has aborted gives what is there already, and null for what is not", async () => {
    const clock = createFakeClock();
    const signal = AbortSignal.abort();
    expect(await withinTime(clock, 1000, Promise.resolve("there"), signal)).toBe("there");
    expect(await withinTime(clock, 1000, new Promise<string>(() => {}), signal)).toBeNull();
    expect(clock.pending()).toBe(0);
  });
});
