import { describe, expect, test } from "bun:test";
import { holdOf, isQuiet, repeatAfterMs } from "../../../src/services/notifier/wake.ts";

const at = (time: string) => Date.parse(`2026-06-01T${time}:00Z`);
const night = { start: "22:00", end: "07:00", time_zone: "UTC" };
const whyHeld = (given: Parameters<typeof holdOf>[0]) => holdOf(given)?.why ?? null;
const facts = {
  config: { wake_policy: "every_poll", min_gap_seconds: 0, max_wakes_per_hour: 0, quiet_hours: null },
  nowMs: at("12:00"),
  lastNotificationMs: at("11:59"),
  digest: "same",
  lastDigest: "same",
  repeats: 0,
  wakesMs: [],
} as const;

describe("waking is held back", () => {
  test("never with the contract's defaults", () => {
    expect(whyHeld(facts)).toBeNull();
  });

  test.each([
    { wake_policy: "every_poll", min_gap_seconds: 0 },
    { wake_policy: "every_poll", min_gap_seconds: 60 },
    { wake_policy: "on_change", min_gap_seconds: 0 },
  ] as const)("never by a wake-up that the clock, set back, puts in the future: %j", (change) => {
    const config = { ...facts.config, ...change };
    expect(whyHeld({ ...facts, config, lastNotificationMs: facts.nowMs + 86_400_000 })).toBeNull();
  });

  test("until a gap or the quiet hours end; what is nothing new waits for a scheduled poll", () => {
    const until = (nowMs: number, change: Partial<Parameters<typeof holdOf>[0]["config"]>) =>
      holdOf({ ...facts, nowMs, config: { ...facts.config, ...change } })?.forMs;
    expect(until(at("12:00"), { min_gap_seconds: 90 })).toBe(30_000);
    expect(until(at("12:00"), { wake_policy: "on_change" })).toBeNull();
    expect(until(at("22:00") + 1500, { quiet_hours: night })).toBe(9 * 3_600_000 - 1500);
    expect(until(at("06:59") + 59_999, { quiet_hours: night })).toBe(1);
    expect(until(at("00:00"), { quiet_hours: { ...night, time_zone: "Europe/Berlin" } })).toBe(5 * 3_600_000);
  });

  test.each([
    { id: "on_change with nothing new", change: { wake_policy: "on_change" }, held: "wake_policy=on_change" },
    { id: "a gap that has not passed", change: { min_gap_seconds: 90 }, held: "min_gap_seconds=90" },
    { id: "a gap that has passed", change: { min_gap_seconds: 60 }, held: null },
    {
      id: "quiet hours",
      change: { quiet_hours: { start: "11:00", end: "13:00", time_zone: "UTC" } },
      held: "quiet_hours 11:00-13:00 UTC",
    },
  ] as const)("by $id: $held", ({ change, held }) => {
    const why = whyHeld({ ...facts, config: { ...facts.config, ...change } });
    if (held === null) expect(why).toBeNull();
    else expect(why).toStartWith(held);
  });

  test.each([
    { id: "fewer than the limit", wakes: ["11:59", "11:40"], held: null },
    { id: "as many as the limit", wakes: ["11:59", "11:40", "11:15"], held: 15 * 60_000 },
    { id: "one of them an hour ago", wakes: ["11:59", "11:40", "11:00"], held: null },
    { id: "more than the limit", wakes: ["11:59", "11:40", "11:15", "11:01"], held: 15 * 60_000 },
    { id: "one in the future", wakes: ["12:30", "11:40", "11:15"], held: null },
  ])("by a limit of wake-ups an hour, also for new mail: $id", ({ wakes, held }) => {
    const config = { ...facts.config, max_wakes_per_hour: 3 };
    const hold = holdOf({ ...facts, config, digest: "new", wakesMs: wakes.map(at) });
    expect(hold?.forMs ?? null).toBe(held);
    if (held !== null) expect(hold?.why).toBe("max_wakes_per_hour=3 is reached");
  });

  test("on_change wakes for new mail at once", () => {
    const config = { ...facts.config, wake_policy: "on_change" } as const;
    expect(whyHeld({ ...facts, config, digest: "new" })).toBeNull();
  });

  test("on_change reports the same mail again after a growing pause", () => {
    const config = { ...facts.config, wake_policy: "on_change" } as const;
    const heldAfter = (seconds: number, repeats: number) =>
      whyHeld({ ...facts, config, repeats, lastNotificationMs: facts.nowMs - seconds * 1000 }) !== null;
    expect([heldAfter(299, 0), heldAfter(300, 0), heldAfter(599, 1), heldAfter(600, 1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([0, 1, 2, 3, 4, 50].map((repeats) => repeatAfterMs(repeats) / 60_000)).toEqual([
      5, 10, 20, 40, 60, 60,
    ]);
  });

  test("nothing holds the first wake-up but quiet hours", () => {
    const config = {
      wake_policy: "on_change",
      min_gap_seconds: 900,
      max_wakes_per_hour: 0,
      quiet_hours: null,
    } as const;
    expect(whyHeld({ ...facts, config, lastNotificationMs: null })).toBeNull();
    expect(
      whyHeld({ ...facts, config: { ...config, quiet_hours: night }, nowMs: at("23:00") }),
    ).not.toBeNull();
  });
});

describe("quiet hours", () => {
  test.each([
    ["21:59", false],
    ["22:00", true],
    ["00:00", true],
    ["06:59", true],
    ["07:00", false],
  ] as const)("over midnight at %s: %p", (time, quiet) => {
    expect(isQuiet(night, at(time))).toBe(quiet);
  });

  test("count in their own time zone", () => {
    const berlin = { start: "14:00", end: "15:00", time_zone: "Europe/Berlin" };
    expect([isQuiet(berlin, at("12:30")), isQuiet(berlin, at("14:30"))]).toEqual([true, false]);
  });
});
