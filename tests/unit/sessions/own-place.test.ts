import { expect, test } from "bun:test";
import { createOwnPlace } from "../../../src/services/sessions/own-place.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function fixture(read: () => string | null) {
  const clock = createFakeClock();
  let told = 0;
  let reads = 0;
  let change: (name: string | null) => void = () => {};
  const place = createOwnPlace({
    clock,
    paths: { currentInstance: "/run/current-instance.json", runRoot: "/run" },
    files: {
      read() {
        reads += 1;
        return read();
      },
    },
    watch: {
      watchFolder(_folder, listener) {
        change = listener;
        return () => {
          change = () => {};
        };
      },
    },
    onGone: () => {
      told += 1;
    },
  });
  return {
    clock,
    place,
    told: () => told,
    reads: () => reads,
    change: (name: string | null) => change(name),
  };
}

test("a record that goes without a sign is missed within 30 s, by one small read each time", async () => {
  let text: string | null = "pid 1";
  const at = fixture(() => text);
  at.place.start();
  at.place.start();
  await at.clock.advance(5 * 60_000);
  expect([at.told(), at.reads()]).toEqual([0, 11]);
  text = null;
  await at.clock.advance(30_000);
  expect([at.told(), at.place.gone()]).toEqual([1, true]);
  await at.clock.advance(10 * 60_000);
  at.change(null);
  expect([at.told(), at.reads()]).toEqual([1, 12]);
});

test("a change beside it is nothing, one of it is looked at, and what cannot be read is not gone", () => {
  let read = () => "pid 1";
  const at = fixture(() => read());
  at.place.start();
  at.change("gateway.pid");
  expect(at.reads()).toBe(1);
  read = () => {
    throw new Error("EMFILE");
  };
  at.change("current-instance.json");
  expect(at.told()).toBe(0);
  read = () => "pid 2";
  at.change("current-instance.json");
  expect(at.told()).toBe(1);
});

test("after a stop nothing is told", async () => {
  let text: string | null = "pid 1";
  const at = fixture(() => text);
  at.place.start();
  at.place.stop();
  text = null;
  await at.clock.advance(60_000);
  expect([at.told(), at.place.gone()]).toEqual([0, false]);
});

test("a record that the gateway itself writes is its own, and one that another wrote before is not overwritten", () => {
  let text = "pid 1 epoch 1";
  const at = fixture(() => text);
  at.place.start();
  at.place.rewrite(() => {
    text = "pid 1 epoch 2";
  });
  at.change("current-instance.json");
  expect([at.told(), at.place.gone()]).toEqual([0, false]);
  text = "pid 2";
  at.place.rewrite(() => {
    text = "pid 1 epoch 3";
  });
  expect([text, at.told(), at.place.gone()]).toEqual(["pid 2", 1, true]);
});
