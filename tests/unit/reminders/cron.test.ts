import { describe, expect, test } from "bun:test";
import { nextRun } from "../../../src/system/cron.ts";
import { notReady } from "../../support/fake-agent.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { make } from "../../support/reminder-samples.ts";

const at = (time: string) => Date.parse(time);

/** The next runs after a moment. */
function runs(cron: string, zone: string, after: string, count: number): string[] {
  const found: string[] = [];
  for (let from = at(after); found.length < count; ) {
    const next = nextRun(cron, zone, from);
    if (next === null) break;
    found.push(new Date(next).toISOString().replace(":00.000Z", "Z"));
    from = next;
  }
  return found;
}

describe("when a schedule is due", () => {
  test.each([
    {
      id: "on weekdays, over a weekend",
      given: ["30 9 * * 1-5", "UTC", "2026-01-02T09:30:00Z"],
      want: ["2026-01-05T09:30Z", "2026-01-06T09:30Z"],
    },
    {
      id: "at the local hour, before and after the clocks go forward",
      given: ["0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z"],
      want: ["2026-03-28T08:00Z", "2026-03-29T07:00Z"],
    },
    {
      id: "a time that the clocks skip: when they go forward",
      given: ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"],
      want: ["2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    },
    {
      id: "a time that the clocks repeat: once, the first",
      given: ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z"],
      want: ["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    },
    {
      id: "every hour, also through the hour that the clocks repeat",
      given: ["0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z"],
      want: ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
    },
    {
      id: "every half hour, over the hour that the clocks skip",
      given: ["*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z"],
      want: ["2026-03-29T00:30Z", "2026-03-29T01:00Z", "2026-03-29T01:30Z"],
    },
    {
      id: "two of the hours, of which the clocks repeat one: each once",
      given: ["30 2,14 * * *", "Europe/Berlin", "2026-10-24T23:59:00Z"],
      want: ["2026-10-25T00:30Z", "2026-10-25T13:30Z", "2026-10-26T01:30Z"],
    },
    {
      id: "minutes of an hour that the clocks repeat: each once",
      given: ["*/30 2 * * *", "Europe/Berlin", "2026-10-24T23:59:00Z"],
      want: ["2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-26T01:00Z"],
    },
    {
      id: "hours around one that the clocks repeat: each once",
      given: ["30 1-3 * * *", "Europe/Berlin", "2026-10-24T22:59:00Z"],
      want: ["2026-10-24T23:30Z", "2026-10-25T00:30Z", "2026-10-25T02:30Z", "2026-10-26T00:30Z"],
    },
    {
      id: "from within the second of two equal hours",
      given: ["*/30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z"],
      want: ["2026-10-26T01:00Z"],
    },
    {
      id: "minutes of an hour that the clocks skip: all at once when they go forward",
      given: ["0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"],
      want: ["2026-03-29T01:00Z", "2026-03-30T00:00Z", "2026-03-30T00:30Z"],
    },
    {
      id: "a skipped time and the end of the gap: once",
      given: ["0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"],
      want: ["2026-03-29T01:00Z", "2026-03-30T00:00Z"],
    },
    {
      id: "on the one day on which the clocks skip it",
      given: ["*/10 2 29 3 *", "Europe/Berlin", "2026-03-28T12:00:00Z"],
      want: ["2026-03-29T01:00Z", "2027-03-29T00:00Z"],
    },
    {
      id: "a skipped time of a gap that ends at midnight",
      given: ["30 23 * * *", "America/Scoresbysund", "2026-03-27T12:00:00Z"],
      want: ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    },
    {
      id: "midnight, where the clocks go forward at midnight",
      given: ["0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z"],
      want: ["2026-03-08T05:00Z", "2026-03-09T04:00Z"],
    },
    {
      id: "a time that clocks repeat that go back by half an hour",
      given: ["45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z"],
      want: ["2026-04-04T14:45Z", "2026-04-05T15:15Z"],
    },
    {
      id: "every second hour, counted as the clocks show it, through both",
      given: ["0 */2 * * *", "Europe/Berlin", "2026-10-24T23:30:00Z"],
      want: ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T03:00Z"],
    },
    {
      id: "a quarter past each hour, of which the clocks skip one",
      given: ["15 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z"],
      want: ["2026-03-29T00:15Z", "2026-03-29T01:15Z", "2026-03-29T02:15Z"],
    },
    {
      id: "each hour of a day years later",
      given: ["0 * 29 2 *", "Europe/Berlin", "2026-07-01T00:00:00Z"],
      want: ["2028-02-28T23:00Z", "2028-02-29T00:00Z"],
    },
    {
      id: "on a leap day",
      given: ["0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z"],
      want: ["2028-02-29T00:00Z", "2032-02-29T00:00Z"],
    },
    {
      id: "on the day of the month or of the week, when both are given",
      given: ["0 9 13 * 5", "UTC", "2026-01-09T10:00:00Z"],
      want: ["2026-01-13T09:00Z", "2026-01-16T09:00Z"],
    },
  ])("$id", ({ given: [cron = "", zone = "", after = ""], want }) => {
    expect(runs(cron, zone, after, want.length)).toEqual([...want]);
  });
});

const schedule = { mode: "repeat", start_after_seconds: null } as const;

describe("a schedule", () => {
  test("is delivered in its time zone, and by default is durable and independent", async () => {
    await using bundle = createGatewayBundle({ startMs: at("2026-03-28T12:00:00Z") });
    const id = make(bundle, { ...schedule, cron: "30 2 * * *", time_zone: "Europe/Berlin" });
    expect(bundle.reminders.get(id)).toMatchObject({
      next_due_at_utc: "2026-03-29T01:00:00.000+00:00",
      interval_seconds: null,
      cron: "30 2 * * *",
      time_zone: "Europe/Berlin",
      durable: true,
      independent: true,
    });
    await bundle.clock.advance(13 * 3_600_000 - 1);
    expect(bundle.agent.prompts).toEqual([]);
    await bundle.clock.advance(1);
    expect(bundle.agent.prompts).toEqual(["Look again"]);
    expect(bundle.reminders.get(id).next_due_at_utc).toBe("2026-03-30T00:30:00.000+00:00");
  });

  test("that the agent was busy for is delivered once, however many runs were missed", async () => {
    await using bundle = createGatewayBundle();
    make(bundle, { ...schedule, cron: "0 * * * *" });
    bundle.agent.setReadiness(notReady);
    await bundle.clock.advance(5.5 * 3_600_000);
    bundle.agent.setReadiness({ ready: true });
    await bundle.clock.advance(0);
    expect(bundle.agent.prompts).toHaveLength(1);
    await bundle.clock.advance(1_800_000);
    expect(bundle.agent.prompts).toHaveLength(2);
  });

  test("is given no run twice when the clock is set back meanwhile", async () => {
    await using bundle = createGatewayBundle();
    const id = make(bundle, { ...schedule, cron: "0 * * * *" });
    bundle.agent.onSubmit = () => {
      bundle.clock.nowMs = () => at("2026-01-01T00:30:00Z");
      return { outcome: "submitted" };
    };
    await bundle.clock.advance(3_600_000);
    expect(bundle.reminders.get(id).next_due_at_utc).toBe("2026-01-01T02:00:00.000+00:00");
  });

  test.each([
    { id: "beside an interval", more: { cron: "0 * * * *", interval_seconds: 5 }, loc: "interval_seconds" },
    { id: "for once", more: { cron: "0 * * * *", mode: "one_off" }, loc: "cron" },
    { id: "of six fields", more: { cron: "0 0 * * * *" }, loc: "cron" },
    { id: "of a minute that is none", more: { cron: "60 * * * *" }, loc: "cron" },
    { id: "of a range backwards", more: { cron: "30-10 * * * *" }, loc: "cron" },
    { id: "of a day that never comes", more: { cron: "0 0 30 2 *" }, loc: "cron" },
    { id: "of a nickname", more: { cron: "@daily" }, loc: "cron" },
    { id: "in an unknown time zone", more: { cron: "0 * * * *", time_zone: "Mars/Base" }, loc: "time_zone" },
    {
      id: "with a time zone alone",
      more: { start_after_seconds: 5, interval_seconds: 5, time_zone: "UTC" },
      loc: "time_zone",
    },
  ] as const)("is refused $id", async ({ more, loc }) => {
    await using bundle = createGatewayBundle();
    let issues: unknown;
    try {
      make(bundle, { ...schedule, ...more });
    } catch (error) {
      issues = (error as { data?: { issues?: unknown } }).data?.issues;
    }
    expect(issues).toMatchObject([{ loc: ["reminders", 0, loc] }]);
  });
});

describe("independent reminders", () => {
  const paused = { ranking: -5, paused: true, start_after_seconds: 3600 };

  test("are delivered beside one that blocks all others, and do not block", async () => {
    await using bundle = createGatewayBundle();
    const blocker = make(bundle, paused);
    const free = make(bundle, { independent: true, ranking: -9 });
    const blocked = make(bundle, { start_after_seconds: 1 });
    expect(bundle.reminders.get(free)).toMatchObject({
      selection_state: "effective",
      blocked_by_reminder_id: null,
    });
    expect(bundle.reminders.get(blocked)).toMatchObject({
      selection_state: "blocked",
      blocked_by_reminder_id: blocker,
    });
    expect(bundle.reminders.list().effective_reminder_id).toBe(blocker);
    await bundle.clock.advance(10_000);
    expect(bundle.agent.prompts).toHaveLength(1);
    expect(bundle.reminders.list().reminders.map((one) => one.reminder_id)).toEqual([blocker, blocked]);
  });

  test("due at the same time follow one another; keys do not wait for a prompt that must wait", async () => {
    await using bundle = createGatewayBundle();
    const first = make(bundle, { independent: true });
    make(bundle, { independent: true, prompt: "second" });
    make(bundle, {
      independent: true,
      start_after_seconds: 20,
      prompt: null,
      send_keys: { sequence: "x" },
    });
    bundle.agent.setReadiness(notReady);
    await bundle.clock.advance(20_000);
    expect([bundle.agent.prompts.length, bundle.reminders.list().firings?.length]).toEqual([0, 1]);
    expect(bundle.reminders.get(first).waiting?.reason).toBe("not_ready");
    bundle.agent.setReadiness({ ready: true });
    await bundle.clock.advance(0);
    expect(bundle.agent.prompts).toEqual(["Look again", "second"]);
  });
});
