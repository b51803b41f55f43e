import { describe, expect, test } from "bun:test";
import { planReminder } from "../../../src/cli/agent/reminder-flags.ts";
import { UsageError } from "../../../src/cli/command-line/command.ts";
import { renderReminder, renderReminders } from "../../../src/cli/commands/agent/reminders.ts";
import type { ReminderRecord } from "../../../src/protocol/reminders.ts";

type Given = Parameters<typeof planReminder>[0]["given"];

const nothing: Given = {
  title: undefined,
  mode: undefined,
  prompt: undefined,
  sequence: undefined,
  "ensure-enter": undefined,
  ranking: undefined,
  "before-all": false,
  "after-all": false,
  paused: undefined,
  "start-after-seconds": undefined,
  "deliver-at-utc": undefined,
  "interval-seconds": undefined,
  cron: undefined,
  "time-zone": undefined,
  durable: undefined,
  independent: undefined,
};
const fresh = { ...nothing, title: "look", prompt: "Look", "start-after-seconds": "5" };

const current: ReminderRecord = {
  schema_version: 1,
  reminder_id: "greminder-1",
  mode: "repeat",
  delivery_kind: "send_keys",
  title: "tidy",
  prompt: null,
  send_keys: { sequence: "/compact", ensure_enter: false },
  ranking: 4,
  paused: true,
  selection_state: "blocked",
  delivery_state: "overdue",
  created_at_utc: "2026-01-01T00:00:00.000+00:00",
  next_due_at_utc: "2026-01-01T00:01:00.000+00:00",
  interval_seconds: 60,
  last_started_at_utc: null,
  blocked_by_reminder_id: "greminder-2",
};
const kept = {
  mode: "repeat",
  title: "tidy",
  send_keys: { sequence: "/compact", ensure_enter: false },
  ranking: 4,
  paused: true,
  deliver_at_utc: "2026-01-01T00:01:00.000+00:00",
  interval_seconds: 60,
} as const;
const others = [{ ranking: -3 }, { ranking: 9 }];

describe("a new reminder", () => {
  const base = { mode: "one_off", title: "look", prompt: "Look", ranking: 0, paused: false };
  test.each<{ id: string; given: Partial<Given>; want: object }>([
    { id: "is one_off unless told otherwise", given: {}, want: { ...base, start_after_seconds: 5 } },
    {
      id: "repeats when it has an interval",
      given: { "interval-seconds": "0.5" },
      want: { ...base, mode: "repeat", start_after_seconds: 5, interval_seconds: 0.5 },
    },
    {
      id: "may be due at a time",
      given: { "start-after-seconds": undefined, "deliver-at-utc": "2030-01-01T00:00:00Z" },
      want: { ...base, deliver_at_utc: "2030-01-01T00:00:00Z" },
    },
    {
      id: "may be ranked before all others",
      given: { "before-all": true },
      want: { ...base, ranking: -4, start_after_seconds: 5 },
    },
    {
      id: "may be ranked behind all others",
      given: { "after-all": true },
      want: { ...base, ranking: 10, start_after_seconds: 5 },
    },
    {
      id: "takes a negative ranking",
      given: { ranking: "-7" },
      want: { ...base, ranking: -7, start_after_seconds: 5 },
    },
  ])("$id", ({ given, want }) => {
    expect(planReminder({ given: { ...fresh, ...given }, current: null, others })).toEqual(want as never);
  });

  test("of keys ends them with Enter unless set otherwise", () => {
    const given = { ...fresh, prompt: undefined, sequence: "/x" };
    const plan = (more: Partial<Given>) =>
      planReminder({ given: { ...given, ...more }, current: null, others }).send_keys;
    expect(plan({})).toEqual({ sequence: "/x", ensure_enter: true });
    expect(plan({ "ensure-enter": "no" })).toEqual({ sequence: "/x", ensure_enter: false });
  });

  test("of more keys than a gateway takes is refused before anything is asked", () => {
    const plan = (sequence: string) =>
      planReminder({ given: { ...fresh, prompt: undefined, sequence }, current: null, others });
    expect(plan("x".repeat(65_536)).send_keys?.sequence).toHaveLength(65_536);
    const long = "x".repeat(65_537);
    const refusal = new UsageError("--sequence has 65537 characters; at most 65536 are taken");
    expect(() => plan(long)).toThrow(refusal);
  });

  test("that is alone is ranked 0 before and behind all others", () => {
    for (const flag of ["before-all", "after-all"]) {
      expect(planReminder({ given: { ...fresh, [flag]: true }, current: null, others: [] }).ranking).toBe(0);
    }
  });
});

describe("a changed reminder", () => {
  test.each<{ id: string; given: Partial<Given>; want: object }>([
    { id: "keeps what no flag names", given: { title: "other" }, want: { ...kept, title: "other" } },
    { id: "can be resumed", given: { paused: "no" }, want: { ...kept, paused: false } },
    {
      id: "can be due anew",
      given: { "start-after-seconds": "9" },
      want: { ...kept, deliver_at_utc: undefined, start_after_seconds: 9 },
    },
    {
      id: "loses its interval as one_off",
      given: { mode: "one-off" },
      want: { ...kept, mode: "one_off", interval_seconds: undefined },
    },
    {
      id: "can submit a prompt instead",
      given: { prompt: "Look" },
      want: { ...kept, send_keys: undefined, prompt: "Look" },
    },
    {
      id: "can press other keys as before",
      given: { sequence: "/x" },
      want: { ...kept, send_keys: { sequence: "/x", ensure_enter: false } },
    },
    {
      id: "can end its keys with Enter",
      given: { "ensure-enter": "yes" },
      want: { ...kept, send_keys: { sequence: "/compact", ensure_enter: true } },
    },
  ])("$id", ({ given, want }) => {
    expect(planReminder({ given: { ...nothing, ...given }, current, others })).toEqual(want as never);
  });
});

describe("a schedule", () => {
  const cron = { ...nothing, title: "look", prompt: "Look", cron: "0 9 * * *" };
  const schedule: ReminderRecord = {
    ...current,
    interval_seconds: null,
    cron: "0 9 * * *",
    time_zone: "Asia/Tokyo",
    durable: true,
  };

  test.each<{ id: string; given: Given; current: ReminderRecord | null; want: object }>([
    {
      id: "is of UTC, and needs no due time",
      given: cron,
      current: null,
      want: { mode: "repeat", cron: "0 9 * * *", time_zone: "UTC" },
    },
    {
      id: "keeps what no flag names, also that it is not independent",
      given: { ...nothing, paused: "no" },
      current: schedule,
      want: { cron: "0 9 * * *", time_zone: "Asia/Tokyo", durable: true, independent: false, paused: false },
    },
    {
      id: "takes the place of an interval",
      given: { ...nothing, cron: "0 9 * * *" },
      current,
      want: { mode: "repeat", cron: "0 9 * * *" },
    },
    {
      id: "is given up for an interval",
      given: { ...nothing, "interval-seconds": "60", "start-after-seconds": "60" },
      current: schedule,
      want: { mode: "repeat", interval_seconds: 60, start_after_seconds: 60, durable: true },
    },
  ])("$id", ({ given, current: before, want }) => {
    const planned = planReminder({ given, current: before, others: [] });
    expect(planned).toMatchObject(want);
    const dueFields = ["cron", "start_after_seconds", "deliver_at_utc"] as const;
    expect(dueFields.filter((field) => planned[field] != null)).toHaveLength(1);
  });

  test("is shown with its time zone", () => {
    expect(renderReminders([schedule])).toContain("0 9 * * * Asia/Tokyo");
    expect(renderReminder({ ...schedule, last_request_id: "greminder-1-aa" })).toContain("greminder-1-aa");
  });
});

test.each<{ id: string; given: Partial<Given>; why: string }>([
  {
    id: "a cron expression and a due time",
    given: { cron: "0 9 * * *" },
    why: "give one of --cron and --start",
  },
  {
    id: "a time zone without a cron expression",
    given: { "time-zone": "UTC" },
    why: "--time-zone goes with --cron",
  },
  { id: "no due time", given: { "start-after-seconds": undefined }, why: "exactly one of" },
  { id: "two due times", given: { "deliver-at-utc": "2030-01-01T00:00:00Z" }, why: "exactly one of" },
  { id: "a prompt and keys", given: { sequence: "/x" }, why: "--prompt and --sequence" },
  { id: "an Enter without keys", given: { "ensure-enter": "no" }, why: "--sequence" },
  { id: "an empty prompt", given: { prompt: " " }, why: "prompt is empty" },
  { id: "an empty title", given: { title: "" }, why: "--title" },
  { id: "two rankings", given: { ranking: "1", "after-all": true }, why: "give one of" },
  { id: "half a ranking", given: { ranking: "0.5" }, why: "whole number" },
  { id: "no number of seconds", given: { "start-after-seconds": "5m" }, why: "above 0" },
  { id: "an interval of 0", given: { "interval-seconds": "0" }, why: "from 0.1" },
  { id: "repeat without an interval", given: { mode: "repeat" }, why: "--interval-seconds" },
  { id: "one-off with an interval", given: { mode: "one-off", "interval-seconds": "5" }, why: "--mode" },
])("$id is a usage error", ({ given, why }) => {
  const plan = () => planReminder({ given: { ...fresh, ...given }, current: null, others });
  expect(plan).toThrow(UsageError);
  expect(plan).toThrow(why);
});

test("what a person reads holds no control character of a title or prompt", () => {
  const hostile = { ...current, title: "a\x1b[2Jb\nc", send_keys: null, prompt: "x\x07y" };
  const text = renderReminders([hostile]) + renderReminder(hostile);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f\x7f]/);
  expect(text).toContain("overdue, blocked, paused");
  expect(text).toContain("every 60 s");
});
