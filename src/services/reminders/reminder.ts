import type { LostReminder, StoredReminder } from "../../db/gateway/reminder-store.ts";
import type { Waiting } from "../../protocol/gateway.ts";
import type { ReminderRecord } from "../../protocol/reminders.ts";
import { toTimestamp } from "../../system/clock.ts";

/** A reminder in memory. Never changed. */
export type Reminder = StoredReminder;

/** Characters of its texts as JSON writes them. */
export function charsOf({
  title,
  prompt,
  send_keys,
}: Pick<Reminder, "title" | "prompt" | "send_keys">): number {
  return JSON.stringify([title, prompt, send_keys?.sequence]).length;
}

/** Smallest ranking first, then oldest (contract 3.3). */
function compare(left: LostReminder, right: LostReminder): number {
  if (left.ranking === right.ranking) return left.order - right.order;
  return left.ranking < right.ranking ? -1 : 1;
}

/** In the order in which they become effective. */
export function inRanking(reminders: Iterable<Reminder>): Reminder[] {
  return [...reminders].sort(compare);
}

/**
 * The only one of those that block one another that may be delivered, paused or not; null when there is none.
 */
export function effectiveOf<R extends LostReminder>(reminders: Iterable<R>): R | null {
  let first: R | null = null;
  for (const one of reminders)
    if (!one.independent && (first === null || compare(one, first) < 0)) first = one;
  return first;
}

/**
 * Which reminders may be delivered: the effective one and those that are independent. `due`: earliest first;
 * `nextMs`: when the next of the others is due, null without any. A paused one is neither. Pure.
 */
export function candidatesOf(
  reminders: Iterable<Reminder>,
  { nowMs, effective }: { nowMs: number; effective: Reminder | null },
): { due: Reminder[]; nextMs: number | null } {
  const due: Reminder[] = [];
  let nextMs: number | null = null;
  for (const one of reminders) {
    if (one.paused || !(one.independent || one === effective)) continue;
    if (one.dueMs <= nowMs) due.push(one);
    else if (nextMs === null || one.dueMs < nextMs) nextMs = one.dueMs;
  }
  return { due: due.sort((left, right) => left.dueMs - right.dueMs || compare(left, right)), nextMs };
}

/** The reminders in memory, with the sums and the order of all of them. */
export function createReminderSet() {
  const byId = new Map<string, Reminder>();
  let chars = 0;
  let nextOrder = 0;
  /** Undefined until it is looked for: five thousand are not compared for each record. */
  let effective: Reminder | null | undefined;

  function remove(reminderId: string): void {
    const removed = byId.get(reminderId);
    if (removed) chars -= charsOf(removed);
    byId.delete(reminderId);
    effective = undefined;
  }

  return {
    get: (reminderId: string): Reminder | undefined => byId.get(reminderId),
    /** Replaces the reminder with the same id. */
    put(reminder: Reminder): void {
      remove(reminder.reminder_id);
      byId.set(reminder.reminder_id, reminder);
      chars += charsOf(reminder);
      nextOrder = Math.max(nextOrder, reminder.order + 1);
    },
    remove,
    clear(): void {
      byId.clear();
      chars = 0;
      effective = undefined;
    },
    size: (): number => byId.size,
    /** Of all texts together; see `charsOf`. */
    chars: (): number => chars,
    /** `order` of the next reminder that is made. No removed one gives its number back. */
    nextOrder: (): number => nextOrder,
    values: (): Iterable<Reminder> => byId.values(),
    /** See `effectiveOf`. */
    effective(): Reminder | null {
      if (effective === undefined) effective = effectiveOf(byId.values());
      return effective;
    },
  };
}

interface RecordFacts {
  nowMs: number;
  effective: Reminder | null;
  executing: boolean;
  waiting: Waiting | null;
}

/** The record of contract 2.3, with additional fields where they differ from the contract's default. Pure. */
export function toRecord(reminder: Reminder, facts: RecordFacts): ReminderRecord {
  const { order: _order, dueMs, executing_request_id: _executing, ...stored } = reminder;
  const { durable, independent, cron, time_zone, last_request_id, ...own } = stored;
  const blocker = independent ? null : facts.effective;
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
    ...(durable ? { durable } : {}),
    ...(independent ? { independent } : {}),
    ...(cron === null ? {} : { cron, time_zone: time_zone ?? "UTC" }),
    ...(last_request_id === null ? {} : { last_request_id }),
  };
}

/** What an event says of a reminder that is lost. Pure. */
export function toLoss(
  reminder: LostReminder,
  { nowMs, effective }: { nowMs: number; effective: LostReminder | null },
) {
  const { reminder_id, mode, delivery_kind, ranking, paused, independent, dueMs } = reminder;
  return {
    reminder_id,
    mode,
    delivery_kind,
    ranking,
    paused,
    selection_state: independent || effective === reminder ? "effective" : "blocked",
    next_due_at_utc: toTimestamp(dueMs),
    delivery_state: dueMs <= nowMs ? "overdue" : "scheduled",
  };
}
