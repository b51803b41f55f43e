import { expect, test } from "bun:test";
import { createStorageWatch } from "../../../src/services/status/status-board.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

test("a failed check of the disk is reported once, and the next checks follow", async () => {
  const clock = createFakeClock();
  const errors: string[] = [];
  let looks = 0;
  const watch = createStorageWatch({
    fault: () => {
      looks += 1;
      throw new Error("no disk");
    },
    clock,
    onChange: () => {},
    onError: (error) => void errors.push(String(error)),
  });
  watch.start();
  await clock.advance(10_000);
  expect(errors).toEqual(["Error: no disk"]);
  expect(looks).toBeGreaterThan(3);
  await watch.stop();
});

test("a fault that only a caller saw, between two polls, is reported as a change after its end", async () => {
  const clock = createFakeClock();
  let full = false;
  const seen: (string | null)[] = [];
  const watch = createStorageWatch({
    fault: () => (full ? Object.assign(new Error("full"), { code: "SQLITE_FULL" }) : null),
    clock,
    onChange: () => void seen.push(watch.problem()?.reason ?? null),
    onError: (error) => {
      throw error;
    },
  });
  watch.start();
  await clock.advance(1500);
  full = true;
  expect(watch.problem()).toMatchObject({ reason: "disk_full" });
  full = false;
  await clock.advance(10_000);
  expect(seen).toEqual([null]);
  await clock.advance(10_000);
  expect(seen).toEqual([null]);
  await watch.stop();
});
