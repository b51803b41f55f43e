import { describe, expect, test } from "bun:test";
import { decideReminder, planReminders, type ReminderFacts } from "../../../src/services/reminders/decide.ts";
import { effectiveOf, inRanking, type Reminder } from "../../../src/services/reminders/reminder.ts";

const due = { dueMs: 1000, paused: false, delivery_kind: "prompt" } as const;
const keys = { ...due, delivery_kind: "send_keys" } as const;
const open: ReminderFacts = {
  nowMs: 1000,
  effective: due,
  admission: "open",
  running: false,
  queueDepth: 0,
  readiness: { ready: true },
};
const refusal = (code: "not_ready" | "awaiting_decision" | "pending_input") =>
  ({ ready: false, code, detail: "why" }) as const;

describe("the effective reminder", () => {
  const cases: { id: string; facts: Partial<ReminderFacts>; want: object }[] = [
    { id: "is delivered when it is due and nothing is against it", facts: {}, want: { do: "deliver" } },
    { id: "is delivered when it is overdue", facts: { nowMs: 99_000 }, want: { do: "deliver" } },
    { id: "is waited for before it is due", facts: { nowMs: 400 }, want: { do: "sleep", delayMs: 600 } },
    { id: "may not exist", facts: { effective: null }, want: { do: "rest", why: "no_reminder" } },
    {
      id: "delivers nothing while it is paused",
      facts: { effective: { ...due, paused: true } },
      want: { do: "rest", why: "paused" },
    },
    {
      id: "waits while the agent is unavailable",
      facts: { admission: "blocked_unavailable" },
      want: { do: "defer", reason: "blocked_unavailable", detail: "request_admission=blocked_unavailable" },
    },
    {
      id: "waits for reconciliation",
      facts: { admission: "blocked_reconciliation" },
      want: { do: "defer", reason: "blocked_reconciliation" },
    },
    {
      id: "waits while the slot is taken",
      facts: { running: true, queueDepth: 1 },
      want: { do: "defer", reason: "execution_slot", detail: "active_execution=running" },
    },
    {
      id: "waits for an empty queue",
      facts: { queueDepth: 2 },
      want: { do: "defer", reason: "queue_depth", detail: "queue_depth=2" },
    },
    {
      id: "waits for a turn boundary",
      facts: { readiness: refusal("not_ready") },
      want: { do: "defer", reason: "not_ready", detail: "why" },
    },
    {
      id: "waits while the agent asks a person",
      facts: { readiness: refusal("awaiting_decision") },
      want: { do: "defer", reason: "awaiting_decision" },
    },
    {
      id: "waits while the tool holds input",
      facts: { readiness: refusal("pending_input") },
      want: { do: "defer", reason: "pending_input" },
    },
    {
      id: "presses keys whatever the screen shows",
      facts: { effective: keys, readiness: refusal("awaiting_decision") },
      want: { do: "deliver" },
    },
    {
      id: "presses no keys while the queue is not empty",
      facts: { effective: keys, queueDepth: 1 },
      want: { do: "defer", reason: "queue_depth" },
    },
    {
      id: "presses no keys while the agent is unavailable",
      facts: { effective: keys, admission: "blocked_unavailable" },
      want: { do: "defer", reason: "blocked_unavailable" },
    },
  ];
  test.each(cases)("$id", ({ facts, want }) => {
    expect(decideReminder({ ...open, ...facts })).toMatchObject(want);
  });
});

const one = (order: number, ranking: number, change: Partial<Reminder> = {}): Reminder => ({
  reminder_id: `r${order}`,
  mode: "one_off",
  delivery_kind: "prompt",
  title: "t",
  prompt: "p",
  send_keys: null,
  ranking,
  paused: false,
  created_at_utc: "",
  interval_seconds: null,
  last_started_at_utc: null,
  durable: false,
  independent: false,
  cron: null,
  time_zone: null,
  last_request_id: null,
  executing_request_id: null,
  order,
  dueMs: 0,
  ...change,
});

describe("a turn", () => {
  const first = one(0, 0, { dueMs: 1000 });
  const independent = (order: number, change: Partial<Reminder>) =>
    one(order, 0, { independent: true, ...change });
  const keysAt = (order: number, dueMs: number) =>
    independent(order, { dueMs, delivery_kind: "send_keys", prompt: null });
  const busy = { readiness: refusal("not_ready") };
  const cases: {
    id: string;
    reminders: Reminder[];
    facts?: Partial<ReminderFacts>;
    deliver: string | null;
    deferred?: string[];
    waitMs: number | null;
  }[] = [
    { id: "without reminders does nothing until it is woken", reminders: [], deliver: null, waitMs: null },
    { id: "delivers what is due", reminders: [first], deliver: "r0", waitMs: null },
    {
      id: "waits until something is due",
      reminders: [one(0, 0, { dueMs: 5000 })],
      deliver: null,
      waitMs: 4000,
    },
    {
      id: "waits at most a minute: the clock may be set",
      reminders: [one(0, 0, { dueMs: 500_000 })],
      deliver: null,
      waitMs: 60_000,
    },
    {
      id: "passes over a reminder that is blocked, though it is due",
      reminders: [one(0, 0, { dueMs: 5000 }), one(1, 1, { dueMs: 0 })],
      deliver: null,
      waitMs: 4000,
    },
    {
      id: "passes over a paused one, and over what it blocks",
      reminders: [one(0, 0, { paused: true }), one(1, 1), independent(2, { paused: true })],
      deliver: null,
      waitMs: null,
    },
    {
      id: "delivers the one that is due longest",
      reminders: [first, independent(1, { dueMs: 900 }), independent(2, { dueMs: 950 })],
      deliver: "r1",
      waitMs: null,
    },
    {
      id: "delivers keys that a busy agent takes, after prompts that wait",
      reminders: [first, keysAt(1, 1000)],
      facts: busy,
      deliver: "r1",
      deferred: ["r0 not_ready"],
      waitMs: null,
    },
    {
      id: "defers nothing that is due later than what it delivers",
      reminders: [keysAt(0, 900), independent(1, { dueMs: 1000 })],
      facts: busy,
      deliver: "r0",
      waitMs: null,
    },
    {
      id: "defers each that is due and wakes for the next",
      reminders: [first, independent(1, { dueMs: 1000 }), independent(2, { dueMs: 1500 })],
      facts: { admission: "blocked_unavailable" },
      deliver: null,
      deferred: ["r0 blocked_unavailable", "r1 blocked_unavailable"],
      waitMs: 500,
    },
  ];
  test.each(cases)("$id", ({ reminders, facts = {}, deliver, deferred = [], waitMs }) => {
    const plan = planReminders({
      reminders,
      effective: effectiveOf(reminders),
      nowMs: open.nowMs,
      gate: () => ({ ...open, ...facts }),
    });
    expect(plan.deliver?.reminder_id ?? null).toBe(deliver);
    expect(plan.deferred.map(({ reminder, reason }) => `${reminder.reminder_id} ${reason}`)).toEqual(
      deferred,
    );
    expect(plan.waitMs).toBe(waitMs);
  });
});

describe("which reminder is effective", () => {
  const cases: { id: string; rankings: number[]; want: string[] }[] = [
    { id: "the smallest ranking wins", rankings: [3, 1, 2], want: ["r1", "r2", "r0"] },
    { id: "a ranking may be negative", rankings: [0, -5, 7], want: ["r1", "r0", "r2"] },
    { id: "of equal rankings the oldest wins", rankings: [1, 1, 1], want: ["r0", "r1", "r2"] },
    { id: "rankings of any size compare", rankings: [1e300, -1e300, 0], want: ["r1", "r2", "r0"] },
    { id: "of none there is none", rankings: [], want: [] },
  ];
  test.each(cases)("$id", ({ rankings, want }) => {
    const reminders = rankings.map((ranking, order) => one(order, ranking)).reverse();
    expect(inRanking(reminders).map((reminder) => reminder.reminder_id)).toEqual(want);
    expect(effectiveOf(reminders)?.reminder_id).toBe(want[0] as string);
  });
});
