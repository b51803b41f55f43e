import { expect, test } from "bun:test";
import { createIdleMemory } from "../../../src/system/idle-memory.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setup() {
  const clock = createFakeClock();
  let released = 0;
  const memory = createIdleMemory({ clock, release: () => released++ });
  return { clock, memory, released: () => released };
}

test("what the start needed is given back once, and then no timer is left", async () => {
  const { clock, released } = setup();
  await clock.advance(3000);
  expect(released()).toBe(1);
  expect(clock.pending()).toBe(0);
});

test("what work needed is given back a minute after the last of it", async () => {
  const { clock, memory, released } = setup();
  await clock.advance(3000);
  memory.touch();
  await clock.advance(40_000);
  memory.touch();
  await clock.advance(59_000);
  expect(released()).toBe(1);
  await clock.advance(1000);
  expect(released()).toBe(2);
  expect(clock.pending()).toBe(0);
});

test("work that begins before the start's memory is given back has its own minute", async () => {
  const { clock, memory, released } = setup();
  memory.touch();
  await clock.advance(3000);
  expect(released()).toBe(1);
  memory.touch();
  await clock.advance(60_000);
  expect(released()).toBe(2);
});

test("a stopped one gives nothing back and leaves no timer", async () => {
  const { clock, memory, released } = setup();
  memory.touch();
  memory.stop();
  memory.touch();
  await clock.advance(120_000);
  expect(released()).toBe(0);
  expect(clock.pending()).toBe(0);
});
