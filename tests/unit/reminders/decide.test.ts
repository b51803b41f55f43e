import { describe, expect, test } from "bun:test";
import { decideReminder, type ReminderFacts } from "../../../src/services/reminders/decide.ts";
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

describe("which reminder is effective", () => {
  const one = (order: number, ranking: number): Reminder => ({
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
  });
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
