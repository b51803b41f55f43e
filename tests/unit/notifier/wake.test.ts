import { describe, expect, test } from "bun:test";
import { holdOf, isQuiet, rememberWake, repeatAfterMs } from "../../../src/services/notifier/wake.ts";

const at = (time: string) => Date.parse(`2026-06-01T${time}:00Z`);
const night = { start: "22:00", end: "07:00", time_zone: "UTC" };
const whyHeld = (given: Parameters<typeof holdOf>[0]) => holdOf(given)?.why ?? null;
const facts = {
  config: { wake_policy: "every_poll", min_gap_seconds: 0, max_wakes_per_hour: 0, quiet_hours: null },
  nowMs: at("12:00"),
  lastNotificationMs: at("11:59"),
  mail: [{ message_ref: "a", read: false, answered: false }],
  notified: { a: { at_utc: "2026-06-01T11:59:00.000+00:00", repeats: 0, state: "unread" } },
  wakesMs: [],
} as const;
const fresh = { message_ref: "new", read: false, answered: false };

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
    const hold = holdOf({ ...facts, config, mail: [fresh], wakesMs: wakes.map(at) });
    expect(hold?.forMs ?? null).toBe(held);
    if (held !== null) expect(hold?.why).toBe("max_wakes_per_hour=3 is reached");
  });

  test.each([
    { id: "new mail wakes at once", mail: [fresh], notified: {}, wait: 0 },
    { id: "new mail beside what is known wakes at once", mail: [facts.mail[0], fresh], wait: 0 },
    { id: "what woke the agent waits", mail: facts.mail, wait: 300 },
    { id: "after one repetition it waits twice as long", mail: facts.mail, repeats: 1, wait: 600 },
    { id: "at most an hour", mail: facts.mail, repeats: 50, wait: 3600 },
    {
      id: "one that was read begins again",
      mail: [{ ...facts.mail[0], read: true }],
      repeats: 3,
      wait: 300,
    },
    {
      id: "one that was answered begins again",
      mail: [{ ...facts.mail[0], answered: true }],
      repeats: 3,
      wait: 300,
    },
    {
      id: "of two the one that may be repeated first counts",
      mail: [facts.mail[0], { ...fresh, message_ref: "b" }],
      notified: { b: { at_utc: "2026-06-01T11:59:00.000+00:00", repeats: 0, state: "unread" } },
      repeats: 4,
      wait: 300,
    },
    {
      id: "a wake-up of the future, as after the clock was set back, counts as none",
      mail: facts.mail,
      notified: { a: { at_utc: "2027-01-01T00:00:00.000+00:00", repeats: 0, state: "unread" } },
      wait: 0,
    },
    {
      id: "the name of a property is a reference like any other",
      mail: [{ ...fresh, message_ref: "toString" }],
      wait: 0,
    },
  ])("on_change: $id", ({ mail, notified = {}, repeats = 0, wait }) => {
    const config = { ...facts.config, wake_policy: "on_change" } as const;
    const known = { a: { ...facts.notified.a, repeats }, ...notified };
    const after = (seconds: number) =>
      whyHeld({ ...facts, config, mail, notified: known, nowMs: at("11:59") + seconds * 1000 });
    expect(after(wait)).toBeNull();
    if (wait > 0)
      expect(after(wait - 1)).toBe(
        "wake_policy=on_change, nothing new; repeated by the first poll after 1 s",
      );
  });

  test("the pause doubles from five minutes to an hour", () => {
    expect([0, 1, 2, 3, 4, 50].map((repeats) => repeatAfterMs(repeats) / 60_000)).toEqual([
      5, 10, 20, 40, 60, 60,
    ]);
  });

  test("a wake-up remembers each message with its kind and forgets those that are gone", () => {
    const before = {
      a: { at_utc: "then", repeats: 2, state: "unread" },
      b: { at_utc: "then", repeats: 2, state: "unread" },
      gone: { at_utc: "then", repeats: 2, state: "unread" },
    };
    const mail = [facts.mail[0], { ...fresh, message_ref: "b", read: true }, fresh];
    expect(rememberWake(mail, before, "now")).toEqual({
      a: { at_utc: "now", repeats: 3, state: "unread" },
      b: { at_utc: "now", repeats: 0, state: "read" },
      new: { at_utc: "now", repeats: 0, state: "unread" },
    });
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
