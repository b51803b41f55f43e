import { expect, test } from "bun:test";
import { createDirectoryWatch } from "../../../../src/services/extensions/hosts/directory-watch.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";

/** Entries that the test gives, until it or the watch ends them. */
function createEntries() {
  const waiting: string[] = [];
  let isOver = false;
  let rouse = () => {};
  const entries = {
    isStopped: false,
    give(entry: string) {
      waiting.push(entry);
      rouse();
    },
    end() {
      isOver = true;
      rouse();
    },
    stop() {
      entries.isStopped = true;
      entries.end();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) yield entry;
        if (isOver) return;
        await new Promise<void>((resolve) => {
          rouse = resolve;
        });
      }
    },
  };
  return entries;
}

function setup() {
  const clock = createFakeClock();
  const opened: ReturnType<typeof createEntries>[] = [];
  const received: string[] = [];
  const errors: string[] = [];
  const server = { refusal: null as string | null, isSilent: false, attempts: 0 };
  const watch = createDirectoryWatch<string>({
    clock,
    async open() {
      server.attempts += 1;
      if (server.isSilent) await new Promise(() => {});
      if (server.refusal !== null) throw new Error(server.refusal);
      const entries = createEntries();
      opened.push(entries);
      return entries;
    },
    receive: (entry) => void received.push(entry),
    onError: (error) => void errors.push(String(error)),
  });
  return { clock, opened, received, errors, server, watch };
}

test("a watch that cannot be opened after an interruption is tried until it can be, and its fault is reported once", async () => {
  const { clock, opened, received, errors, server, watch } = setup();
  await watch.start();
  opened[0]?.give("one");
  await settle();
  server.refusal = "no stream";
  watch.again();
  await clock.advance(60_000);
  expect([opened[0]?.isStopped, errors]).toEqual([true, ["Error: no stream"]]);
  // Later and later: after 0.5, 1, 2, 4 and then each 8 s.
  expect(server.attempts).toBe(1 + 5 + 6);
  server.refusal = null;
  await clock.advance(8000);
  opened[1]?.give("two");
  await settle();
  expect([received, opened.length]).toEqual([["one", "two"], 2]);
  await watch.stop();
  expect([opened[1]?.isStopped, clock.pending()]).toEqual([true, 0]);
});

test("an interruption does not wait for what was asked before it, nor for the time of the next attempt", async () => {
  const { clock, opened, server, watch } = setup();
  await watch.start();
  server.isSilent = true;
  watch.again();
  await clock.advance(1000);
  server.isSilent = false;
  watch.again();
  await settle();
  expect(opened.length).toBe(2);
  server.refusal = "no stream";
  watch.again();
  await clock.advance(5000);
  server.refusal = null;
  watch.again();
  await settle();
  expect(opened.length).toBe(3);
  await watch.stop();
});

test("a watch that ends by itself is opened again", async () => {
  const { clock, opened, errors, watch } = setup();
  await watch.start();
  opened[0]?.end();
  await clock.advance(500);
  expect([opened.length, errors]).toEqual([2, ["Error: its watch ended"]]);
  await watch.stop();
});

test("one that cannot be opened at first says so to its caller, and ends while it is tried", async () => {
  const { clock, errors, server, watch } = setup();
  server.refusal = "no stream";
  await expect(watch.start()).rejects.toThrow("no stream");
  server.isSilent = true;
  await clock.advance(500);
  await watch.stop();
  expect([server.attempts, errors, clock.pending()]).toEqual([2, [], 0]);
});
