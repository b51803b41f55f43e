import { describe, expect, test } from "bun:test";
import { explainWakes, whyBusy } from "../../../src/services/notifier/decide.ts";
import { settle } from "../../support/fake-clock.ts";
import { createNotifierFixture, notReady, outcomes, ready } from "../../support/notifier-fixture.ts";

type Facts = Parameters<typeof explainWakes>[0];

const free: Facts["gate"] = {
  admission: "open",
  execution: "idle",
  typist: null,
  queueDepth: 0,
  readiness: ready,
};
const facts: Facts = {
  config: { enabled: true, mode: "any_inbox" },
  problem: null,
  gate: free,
  budget: null,
  lastPoll: { outcome: "enqueued", detail: null, hold: null },
  wakesHeld: null,
};
const limit = { reason: "max_wakes_per_hour", detail: "max_wakes_per_hour=2 is reached" } as const;

describe("why the agent is left alone", () => {
  test.each([
    { id: "nothing", gate: {}, want: null },
    { id: "a person types", gate: { typist: "ann" }, want: 'typing_lease: "ann" types in the terminal' },
    { id: "its readiness", gate: { readiness: notReady }, want: "not_ready: turn.phase=active" },
    {
      id: "several facts, of which readiness follows from the others",
      gate: { execution: "running", queueDepth: 1, readiness: notReady },
      want: "active_execution=running, queue_depth=1",
    },
    {
      id: "a closed admission",
      gate: { admission: "blocked_unavailable" },
      want: "request_admission=blocked_unavailable",
    },
  ] as const)("$id", ({ gate, want }) => {
    expect(whyBusy({ ...free, ...gate })).toBe(want);
  });
});

describe("what keeps mail from waking the agent", () => {
  const cases: { id: string; change: Partial<Facts>; want: string[] }[] = [
    { id: "nothing after a wake-up", change: {}, want: [] },
    { id: "nothing before the first poll", change: { lastPoll: null }, want: [] },
    {
      id: "a notifier that is off, whatever else there is",
      change: { config: { enabled: false, mode: "any_inbox" }, gate: { ...free, typist: "ann" } },
      want: ["disabled: the mail notifier is off"],
    },
    {
      id: "a mailbox that cannot be used",
      change: { problem: "no mailbox", wakesHeld: limit },
      want: ["unsupported: no mailbox"],
    },
    {
      id: "a person, a wake-up that waits, and the budget that it waits for",
      change: { gate: { ...free, typist: "ann", queueDepth: 1 }, budget: "5 of 5 tokens" },
      want: [
        "budget: 5 of 5 tokens",
        'typing_lease: typing_lease: "ann" types in the terminal',
        "queue_depth: queue_depth=1",
      ],
    },
    {
      id: "a hold of the last poll",
      change: {
        lastPoll: {
          outcome: "wake_held",
          detail: "quiet_hours 22:00-07:00 UTC",
          hold: { reason: "quiet_hours", why: "quiet_hours 22:00-07:00 UTC" },
        },
      },
      want: ["quiet_hours: quiet_hours 22:00-07:00 UTC"],
    },
    {
      id: "a limit, once",
      change: {
        lastPoll: {
          outcome: "wake_held",
          detail: limit.detail,
          hold: { reason: limit.reason, why: limit.detail },
        },
        wakesHeld: limit,
      },
      want: [`max_wakes_per_hour: ${limit.detail}`],
    },
    {
      id: "a limit of some mail beside a hold of the rest",
      change: {
        lastPoll: {
          outcome: "wake_held",
          detail: "nothing new",
          hold: { reason: "wake_policy", why: "nothing new" },
        },
        wakesHeld: { reason: "max_hops", detail: "1 message" },
      },
      want: ["wake_policy: nothing new", "max_hops: 1 message"],
    },
    {
      id: "a poll that failed",
      change: { lastPoll: { outcome: "poll_error", detail: "disk full", hold: null } },
      want: ["poll_error: disk full"],
    },
    {
      id: "an agent that was busy at the last poll and is free now",
      change: { lastPoll: { outcome: "busy_skip", detail: "queue_depth=1", hold: null } },
      want: ["busy_skip: the agent was busy at the last poll (queue_depth=1); the next one looks again"],
    },
    {
      id: "an agent that is busy still, once",
      change: {
        gate: { ...free, execution: "running" },
        lastPoll: { outcome: "busy_skip", detail: "active_execution=running", hold: null },
      },
      want: ["active_execution: active_execution=running"],
    },
    {
      id: "no mail that counts",
      change: {
        config: { enabled: true, mode: "unread_only" },
        lastPoll: { outcome: "empty", detail: null, hold: null },
      },
      want: ["empty: the last poll found no unread mail in the inbox"],
    },
    {
      id: "no mail but what cannot be read",
      change: { lastPoll: { outcome: "empty", detail: "1 message(s) left out", hold: null } },
      want: ["empty: the last poll found no mail in the inbox; 1 message(s) left out"],
    },
  ];
  test.each(cases)("$id", ({ change, want }) => {
    const obstacles = explainWakes({ ...facts, ...change });
    expect(obstacles.map(({ reason, detail }) => `${reason}: ${detail}`)).toEqual(want);
  });

  test("a person's typing is reported as typing, not as a request that runs", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    fixture.world.typist = "ann";
    await fixture.arrive();
    expect(fixture.notifier.audit({ limit: 1 }).rows[0]).toMatchObject({
      outcome: "busy_skip",
      active_execution: "idle",
      detail: 'typing_lease: "ann" types in the terminal',
    });
    const reasons = () => fixture.notifier.status().wake_obstacles?.map(({ reason }) => reason);
    expect(reasons()).toEqual(["typing_lease"]);
    fixture.world.typist = null;
    fixture.notifier.wake();
    await settle();
    expect(outcomes(fixture).at(-1)).toBe("doorbell enqueued");
    expect(reasons()).toEqual([]);
  });

  test("the status names the limit and the budget that hold", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 60, max_wakes_per_hour: 1 });
    await fixture.arrive();
    await fixture.clock.advance(60_000);
    fixture.world.budget = "6 of 5 tokens of this day";
    expect(fixture.notifier.status().wake_obstacles).toEqual([
      { reason: "budget", detail: "6 of 5 tokens of this day" },
      limitOf(1),
    ]);
  });
});

const limitOf = (max: number) => ({
  reason: "max_wakes_per_hour" as const,
  detail: `max_wakes_per_hour=${max} is reached`,
});
