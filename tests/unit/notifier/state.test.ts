import { describe, expect, test } from "bun:test";
import {
  initialState,
  type NotifierEvent,
  type NotifierState,
  next,
  planPoll,
} from "../../../src/services/notifier/state.ts";

const nowMs = 100_000;
const nowUtc = "2026-06-01T12:00:00.000+00:00";
const waiting: NotifierState = {
  ...initialState,
  mail: { is: "none" },
  scheduledAtMs: 160_000,
  intervalMs: 60_000,
};
const polling = (answersMail: boolean, trigger: "doorbell" | "interval" = "doorbell"): NotifierState => ({
  ...waiting,
  phase: { is: "polling", trigger, answersMail, contextAction: null },
});
const deferred: NotifierState["mail"] = { is: "deferred" };
const held: NotifierState["mail"] = { is: "held", untilMs: 130_000 };
const ended = (change: Partial<Extract<NotifierEvent, { kind: "poll_ended" }>>): NotifierEvent => ({
  kind: "poll_ended",
  nowMs,
  nowUtc,
  outcome: "empty",
  detail: null,
  hold: null,
  limit: null,
  ...change,
});
const changed = (
  change: Partial<Extract<NotifierEvent, { kind: "settings_changed" }>> = {},
): NotifierEvent => ({
  kind: "settings_changed",
  nowMs,
  intervalMs: 60_000,
  enabled: true,
  wasEnabled: true,
  ...change,
});
const hold = (forMs: number | null) => ({ reason: "min_gap_seconds", why: "why", forMs }) as const;
const limit = { reason: "max_wakes_per_hour", detail: "max_wakes_per_hour=2 is reached" } as const;
const wakesHeld = { ...limit, since_utc: "2026-06-01T11:00:00.000+00:00" };

type Case = { id: string; from: NotifierState; event: NotifierEvent; want: Partial<NotifierState> };

describe("the notifier's state", () => {
  const cases: Case[] = [
    {
      id: "a start schedules the first poll of the interval and looks at the mail at once",
      from: initialState,
      event: { kind: "started", nowMs, intervalMs: 60_000 },
      want: { mail: { is: "new" }, scheduledAtMs: 160_000, intervalMs: 60_000 },
    },
    {
      id: "off ends the report of a limit and keeps the mail",
      from: { ...waiting, mail: { is: "new" }, wakesHeld },
      event: { kind: "switched_off" },
      want: { phase: { is: "off" }, wakesHeld: null, mail: { is: "new" } },
    },
    {
      id: "on ends off",
      from: { ...waiting, phase: { is: "off" } },
      event: { kind: "switched_on" },
      want: { phase: { is: "waiting" } },
    },
    {
      id: "mail that comes while it is off is new",
      from: { ...waiting, phase: { is: "off" } },
      event: { kind: "mail_arrived" },
      want: { phase: { is: "off" }, mail: { is: "new" } },
    },
    {
      id: "new mail replaces what was deferred",
      from: { ...waiting, mail: deferred },
      event: { kind: "mail_arrived" },
      want: { mail: { is: "new" } },
    },
    {
      id: "a poll for mail takes it",
      from: { ...waiting, mail: held },
      event: { kind: "poll_began", trigger: "doorbell" },
      want: { phase: polling(true).phase, mail: { is: "none" } },
    },
    {
      id: "a poll of the interval takes new mail too",
      from: { ...waiting, mail: { is: "new" } },
      event: { kind: "poll_began", trigger: "interval" },
      want: { phase: polling(true, "interval").phase, mail: { is: "none" } },
    },
    ...[deferred, held].map((mail) => ({
      id: `a poll of the interval leaves ${mail.is} mail as it is`,
      from: { ...waiting, mail },
      event: { kind: "poll_began", trigger: "interval" } as const,
      want: { phase: polling(false, "interval").phase, mail },
    })),
    {
      id: "a context action is known while it lasts",
      from: polling(true),
      event: { kind: "context_action", action: "compact" },
      want: { phase: { is: "polling", trigger: "doorbell", answersMail: true, contextAction: "compact" } },
    },
    {
      id: "a poll that woke the agent leaves nothing",
      from: polling(true),
      event: ended({ outcome: "enqueued" }),
      want: {
        phase: { is: "waiting" },
        mail: { is: "none" },
        lastPoll: { outcome: "enqueued", detail: null, hold: null },
      },
    },
    {
      id: "a poll of the interval that woke the agent answers what was held too",
      from: { ...polling(false, "interval"), mail: held },
      event: ended({ outcome: "enqueued" }),
      want: { mail: { is: "none" }, scheduledAtMs: nowMs + 60_000 },
    },
    {
      id: "mail that came during a poll is for the next one, whatever the poll came to",
      from: { ...polling(true), mail: { is: "new" } },
      event: ended({ outcome: "enqueued" }),
      want: { mail: { is: "new" } },
    },
    {
      id: "a poll for mail that found the agent busy defers it, until the agent is free",
      from: polling(true),
      event: ended({ outcome: "busy_skip", detail: "queue_depth=1" }),
      want: { mail: deferred, backoff: { untilMs: nowMs + 1000, endsWhenFree: true } },
    },
    {
      id: "a poll of the interval that found the agent busy defers nothing",
      from: polling(false, "interval"),
      event: ended({ outcome: "busy_skip" }),
      want: { mail: { is: "none" }, scheduledAtMs: nowMs + 60_000 },
    },
    {
      id: "a poll of the interval that found the agent busy keeps what was held",
      from: { ...polling(false, "interval"), mail: held },
      event: ended({ outcome: "busy_skip" }),
      want: { mail: held },
    },
    {
      id: "a wake-up that is held for a known time waits for it; a burst of mail a second at most",
      from: polling(true),
      event: ended({ outcome: "wake_held", hold: hold(30_000) }),
      want: {
        mail: { is: "held", untilMs: nowMs + 30_000 },
        backoff: { untilMs: nowMs + 1000, endsWhenFree: false },
      },
    },
    {
      id: "a burst waits no longer than the hold itself",
      from: polling(true),
      event: ended({ outcome: "wake_held", hold: hold(200) }),
      want: { backoff: { untilMs: nowMs + 200, endsWhenFree: false } },
    },
    {
      id: "a wake-up that is held for no known time waits for other mail or the interval",
      from: polling(true),
      event: ended({ outcome: "wake_held", hold: hold(null) }),
      want: { mail: { is: "none" }, backoff: null },
    },
    {
      id: "a limit is reported from the poll on that reached it",
      from: polling(true),
      event: ended({ outcome: "wake_held", limit }),
      want: { wakesHeld: { ...limit, since_utc: nowUtc } },
    },
    {
      id: "a limit with another detail is the same limit, since the same time",
      from: { ...polling(true), wakesHeld },
      event: ended({ outcome: "wake_held", limit: { ...limit, detail: "more" } }),
      want: { wakesHeld: { ...wakesHeld, detail: "more" } },
    },
    {
      id: "a poll without a limit ends its report",
      from: { ...polling(true), wakesHeld },
      event: ended({ outcome: "enqueued" }),
      want: { wakesHeld: null },
    },
    {
      id: "a poll that is not on record has answered nothing",
      from: polling(true),
      event: { kind: "poll_failed", nowMs, acted: false },
      want: {
        phase: { is: "waiting" },
        mail: { is: "new" },
        scheduledAtMs: 160_000,
        backoff: { untilMs: nowMs + 1000, endsWhenFree: false },
      },
    },
    {
      id: "a poll of the interval that is not on record is made again, and keeps what was deferred",
      from: { ...polling(false, "interval"), mail: deferred, scheduledAtMs: nowMs },
      event: { kind: "poll_failed", nowMs, acted: false },
      want: { mail: deferred, scheduledAtMs: nowMs },
    },
    {
      id: "one that did something and is not on record is not repeated before the interval",
      from: { ...polling(true, "interval"), scheduledAtMs: nowMs },
      event: { kind: "poll_failed", nowMs, acted: true },
      want: { mail: { is: "none" }, scheduledAtMs: nowMs + 60_000 },
    },
    {
      id: "settings that do not change the interval leave its next poll",
      from: { ...waiting, backoff: { untilMs: nowMs + 500, endsWhenFree: false } },
      event: changed(),
      want: { mail: { is: "none" }, scheduledAtMs: 160_000, backoff: null },
    },
    {
      id: "another interval counts from now",
      from: waiting,
      event: changed({ intervalMs: 5000 }),
      want: { mail: { is: "none" }, scheduledAtMs: nowMs + 5000, intervalMs: 5000 },
    },
    {
      id: "another interval during a poll counts for the poll after it",
      from: { ...polling(false, "interval"), intervalMs: 5000 },
      event: ended({}),
      want: { scheduledAtMs: nowMs + 5000 },
    },
    {
      id: "enabling looks for mail at once",
      from: { ...waiting, phase: { is: "off" } },
      event: changed({ wasEnabled: false }),
      want: { mail: { is: "new" }, scheduledAtMs: nowMs + 60_000 },
    },
    {
      id: "settings may let through what was held",
      from: { ...waiting, mail: held },
      event: changed(),
      want: { mail: { is: "new" } },
    },
    {
      id: "settings may let through what a limit held",
      from: { ...waiting, wakesHeld },
      event: changed(),
      want: { mail: { is: "new" } },
    },
    {
      id: "settings that disable it wake nobody",
      from: { ...waiting, mail: held },
      event: changed({ enabled: false }),
      want: { mail: held },
    },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(next(from, event)).toMatchObject(want);
  });

  test("a limit that stays as it is is the same object: nothing is published again", () => {
    const after = next({ ...polling(true), wakesHeld }, ended({ outcome: "wake_held", limit }));
    expect(after.wakesHeld).toBe(wakesHeld);
  });
});

describe("the next poll", () => {
  const busy = { untilMs: nowMs + 1000, endsWhenFree: true };
  const late = { untilMs: nowMs + 1000, endsWhenFree: false };
  const cases: {
    id: string;
    state: Partial<NotifierState>;
    isFree?: boolean;
    want: ReturnType<typeof planPoll>;
  }[] = [
    { id: "waits for the interval without mail", state: {}, want: { waitMs: 60_000 } },
    {
      id: "is due with the interval",
      state: { scheduledAtMs: nowMs },
      isFree: false,
      want: { poll: "interval" },
    },
    { id: "is due at once for new mail", state: { mail: { is: "new" } }, want: { poll: "doorbell" } },
    {
      id: "waits for a backoff after a busy agent",
      state: { mail: { is: "new" }, backoff: busy },
      isFree: false,
      want: { waitMs: 1000 },
    },
    {
      id: "is due as soon as the busy agent is free",
      state: { mail: { is: "new" }, backoff: busy },
      want: { poll: "doorbell" },
    },
    {
      id: "waits for a backoff after a hold, though the agent is free",
      state: { mail: { is: "new" }, backoff: late },
      want: { waitMs: 1000 },
    },
    {
      id: "is due when a backoff is over",
      state: { mail: { is: "new" }, backoff: { ...late, untilMs: nowMs } },
      want: { poll: "doorbell" },
    },
    {
      id: "of the interval is due during a backoff",
      state: { mail: { is: "new" }, backoff: late, scheduledAtMs: nowMs },
      want: { poll: "interval" },
    },
    {
      id: "waits for a free agent or the interval",
      state: { mail: deferred },
      isFree: false,
      want: { waitMs: 60_000 },
    },
    {
      id: "is due for deferred mail when the agent is free",
      state: { mail: deferred },
      want: { poll: "doorbell" },
    },
    { id: "waits for the end of a hold", state: { mail: held }, want: { waitMs: 30_000 } },
    {
      id: "is due at the end of a hold, also of a busy agent",
      state: { mail: { is: "held", untilMs: nowMs } },
      isFree: false,
      want: { poll: "doorbell" },
    },
    {
      id: "is waited for at least a millisecond",
      state: { scheduledAtMs: nowMs + 0.2 },
      want: { waitMs: 1 },
    },
  ];
  test.each(cases)("$id", ({ state, isFree = true, want }) => {
    expect(planPoll({ ...waiting, ...state }, { nowMs, isFree: () => isFree })).toEqual(want);
  });
});
