import type { Waiting } from "../../protocol/gateway.ts";
import type { ReminderRecord } from "../../protocol/reminders.ts";
import { toTimestamp } from "../../system/clock.ts";

/** A reminder in memory: of its record what it does not share with others or with the clock. Never changed. */
export interface Reminder
  extends Omit<
    ReminderRecord,
    | "schema_version"
    | "selection_state"
    | "delivery_state"
    | "next_due_at_utc"
    | "blocked_by_reminder_id"
    | "waiting"
  > {
  /** Order of creation in this process. */
  order: number;
  /** Next due time, epoch milliseconds with fraction. */
  dueMs: number;
}

/** Characters of its texts as JSON writes them. */
export function charsOf({
  title,
  prompt,
  send_keys,
}: Pick<Reminder, "title" | "prompt" | "send_keys">): number {
  return JSON.stringify([title, prompt, send_keys?.sequence]).length;
}

/** Smallest ranking first, then oldest (contract 3.3). */
function compare(left: Reminder, right: Reminder): number {
  if (left.ranking === right.ranking) return left.order - right.order;
  return left.ranking < right.ranking ? -1 : 1;
}

/** In the order in which they become effective. */
export function inRanking(reminders: Iterable<Reminder>): Reminder[] {
  return [...reminders].sort(compare);
}

/** The only one that may be delivered, paused or not; null when there is none. */
export function effectiveOf(reminders: Iterable<Reminder>): Reminder | null {
  let first: Reminder | null = null;
  for (const one of reminders) if (first === null || compare(one, first) < 0) first = one;
  return first;
}

export interface RecordFacts {
  nowMs: number;
  effective: Reminder | null;
  executing: boolean;
  waiting: Waiting | null;
}

/** The record of contract 2.3. Pure. */
export function toRecord(reminder: Reminder, facts: RecordFacts): ReminderRecord {
  const { order: _order, dueMs, ...own } = reminder;
  const blocker = facts.effective;
  const blocked = blocker !== null && blocker.reminder_id !== reminder.reminder_id;
  const overdue = dueMs <= facts.nowMs;
  return {
    schema_version: 1,
    ...own,
    selection_state: blocked ? "blocked" : "effective",
    delivery_state: facts.executing ? "executing" : overdue ? "overdue" : "scheduled",
    next_due_at_utc: toTimestamp(dueMs),
    blocked_by_reminder_id: blocked ? blocker.reminder_id : null,
    ...(facts.waiting ? { waiting: facts.waiting } : {}),
  };
}
