import { expect, test } from "bun:test";
import { createOwnershipWatch } from "../../../src/services/sessions/ownership-watch.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function fixture(read: (path: string) => string | null) {
  const clock = createFakeClock();
  let told = 0;
  let reads = 0;
  const errors: unknown[] = [];
  let change: (name: string | null) => void = () => {};
  const place = createOwnershipWatch({
    clock,
    paths: { currentInstance: "/run/current-instance.json", runRoot: "/run" },
    files: {
      read(path) {
        reads += 1;
        return read(path);
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
    onError: (error) => void errors.push(error),
  });
  return {
    clock,
    place,
    told: () => told,
    errors,
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

test("after a stop nothing is reported", async () => {
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

test("what clients need beside the record is written again where it is lost, and a failure is reported once", async () => {
  const disk = new Map<string, string>([["/run/current-instance.json", "pid 1"]]);
  const at = fixture((path) => disk.get(path) ?? null);
  let full = false;
  const write = () => {
    if (full) throw new Error("no space left");
    disk.set("/run/token", "mine");
  };
  write();
  at.place.keep("/run/token", write);
  disk.set("/run/token", "of another gateway that began beside this one");
  at.place.start();
  expect(disk.get("/run/token")).toBe("mine");
  disk.delete("/run/token");
  at.change("token");
  expect(disk.get("/run/token")).toBe("mine");
  full = true;
  disk.set("/run/token", "");
  at.change("token");
  at.change(null);
  expect([disk.get("/run/token"), at.errors.length, at.told()]).toEqual(["", 1, 0]);
  full = false;
  await at.clock.advance(30_000);
  expect(disk.get("/run/token")).toBe("mine");
  disk.set("/run/current-instance.json", "pid 2");
  disk.set("/run/token", "of its replacement");
  at.change(null);
  expect([disk.get("/run/token"), at.told()]).toEqual(["of its replacement", 1]);
});
