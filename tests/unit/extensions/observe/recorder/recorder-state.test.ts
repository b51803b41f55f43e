import { describe, expect, test } from "bun:test";
import { createPendingItems } from "../../../../../src/services/extensions/observe/recorder/pending-items.ts";
import {
  type DiskEvent,
  type DiskState,
  nextDisk,
} from "../../../../../src/services/extensions/observe/recorder/recorder.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

describe("a disk", () => {
  const failed: DiskEvent = { kind: "failed", reason: "full", nowMs: 10_000 };
  const failing = (retryMs: number, nextRetryMs: number): DiskState => ({
    is: "failing",
    reason: "full",
    retryAtMs: 10_000 + retryMs,
    nextRetryMs,
  });
  const cases: { id: string; from: DiskState; event: DiskEvent; want: DiskState }[] = [
    {
      id: "that fails is tried again after a second",
      from: { is: "good" },
      event: failed,
      want: failing(1000, 2000),
    },
    {
      id: "that fails again, after twice as long",
      from: failing(0, 2000),
      event: failed,
      want: failing(2000, 4000),
    },
    {
      id: "is tried again after half a minute at most",
      from: failing(0, 30_000),
      event: failed,
      want: failing(30_000, 30_000),
    },
    {
      id: "with another fault waits as long",
      from: failing(0, 2000),
      event: { ...failed, reason: "gone" },
      want: { ...failing(2000, 4000), reason: "gone" } as DiskState,
    },
    {
      id: "that takes a part is good",
      from: failing(0, 30_000),
      event: { kind: "written" },
      want: { is: "good" },
    },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(nextDisk(from, event)).toEqual(want);
  });
});

describe("what waits for the disk", () => {
  const record = { is: "record", record: { k: "alive" } } as const;
  const output = (length: number) => ({ is: "output", bytes: new Uint8Array(length) }) as const;

  test("is taken in parts of 16 KiB and of a hundred, and no part is empty", () => {
    const pending = createPendingItems(createFakeClock());
    pending.add(output(40 * 1024));
    for (let nth = 0; nth < 150; nth++) pending.add(record);
    expect(pending.count()).toBe(153);
    const parts: number[] = [];
    while (pending.count() > 0) parts.push(pending.take(1000).length);
    expect(parts).toEqual([1, 1, 100, 51]);
    pending.add(record);
    expect(pending.take(0)).toEqual([]);
  });

  test.each([
    { id: "of many items", items: 20_000, bytes: 0 },
    { id: "of many bytes", items: 0, bytes: 4 * 1024 * 1024 },
  ])("is too much $id, until it is let go", ({ items, bytes }) => {
    const pending = createPendingItems(createFakeClock());
    for (let nth = 0; nth < items; nth++) pending.add(record);
    if (bytes > 0) pending.add(output(bytes));
    expect(pending.isTooMuch()).toBe(false);
    pending.add(output(1));
    expect(pending.isTooMuch()).toBe(true);
    expect(pending.takeAll().length).toBe(items + Math.ceil(bytes / 16_384) + 1);
    expect([pending.count(), pending.isTooMuch()]).toEqual([0, false]);
  });

  test("has times that fall only where the clock was set back, which is said", async () => {
    const clock = createFakeClock();
    let offsetMs = 0;
    const pending = createPendingItems({ nowMs: () => clock.nowMs() + offsetMs });
    expect(pending.add(record)).toBe("added");
    const firstMs = pending.lastMs();
    offsetMs = -900;
    expect(pending.add(record)).toBe("added");
    expect(pending.lastMs()).toBe(firstMs);
    offsetMs = -1100;
    expect(pending.add(record)).toBe("set_back");
    expect(pending.takeAll().map(({ is, t }) => [is, t - firstMs])).toEqual([
      ["record", 0],
      ["record", 0],
      ["set_back", -1100],
      ["record", -1100],
    ]);
  });
});
