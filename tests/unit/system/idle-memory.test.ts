import { expect, test } from "bun:test";
import { afterThisTurn } from "../../../src/system/clock.ts";
import { createIdleMemory, createPressureRelief } from "../../../src/system/idle-memory.ts";
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

const mib = 1024 * 1024;

function pressed(startMib: number) {
  const clock = createFakeClock();
  const held = { mib: startMib, inUseMib: startMib, collections: 0 };
  const relief = createPressureRelief(clock, {
    residentBytes: () => held.mib * mib,
    collect() {
      held.collections++;
      held.mib = held.inUseMib;
    },
  });
  const relieve = () => {
    relief();
    return new Promise<void>(afterThisTurn);
  };
  return {
    clock,
    held,
    relieve,
    async request(garbageMib: number) {
      held.mib += garbageMib;
      await clock.advance(50);
      await relieve();
    },
  };
}

test("garbage is collected between requests as soon as the process is large", async () => {
  const { held, request } = pressed(100);
  await request(20);
  expect(held.collections).toBe(0);
  await request(20);
  expect(held).toMatchObject({ collections: 1, mib: 100 });
  await request(40);
  expect(held).toMatchObject({ collections: 2, mib: 100 });
});

test("a process that is in use at its size is not collected after each request", async () => {
  const { held, request } = pressed(200);
  for (let count = 0; count < 7; count++) await request(1);
  expect(held.collections).toBe(1);
  await request(8);
  expect(held.collections).toBe(2);
});

test("memory that the system takes back later counts as given back", async () => {
  const { held, request } = pressed(200);
  await request(1);
  held.mib = 150;
  await request(0);
  await request(8);
  expect(held.collections).toBe(2);
});

test("requests that follow closely are looked at once", async () => {
  const { clock, held, relieve, request } = pressed(200);
  await request(1);
  held.mib = 300;
  await clock.advance(49);
  await relieve();
  expect(held.collections).toBe(1);
  await clock.advance(1);
  await relieve();
  expect(held.collections).toBe(2);
});

test("the answer does not wait for a collection", async () => {
  const { held, relieve } = pressed(200);
  const done = relieve();
  expect(held.collections).toBe(0);
  await done;
  expect(held.collections).toBe(1);
});
