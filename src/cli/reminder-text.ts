import type { ReminderRecord } from "../protocol/reminders.ts";
import { visibleLine } from "../system/visible.ts";
import { renderPairs, renderTable } from "./format.ts";

/** Reminders for people, one a line, in the order given. Pure. */
export function renderReminders(reminders: readonly ReminderRecord[]): string {
  const rows = reminders.map((one) => [
    one.reminder_id,
    one.next_due_at_utc,
    cadenceOf(one),
    String(one.ranking),
    stateOf(one),
    one.delivery_kind,
    visibleLine(one.title),
  ]);
  return renderTable(["REMINDER", "DUE", "REPEATS", "RANKING", "STATE", "KIND", "TITLE"], rows);
}

/** One reminder with all that is known of it. Pure. */
export function renderReminder(reminder: ReminderRecord): string {
  const { waiting, send_keys: keys } = reminder;
  return renderPairs([
    ["reminder", reminder.reminder_id],
    ["title", visibleLine(reminder.title)],
    ["prompt", reminder.prompt && visibleLine(reminder.prompt)],
    ["keys", keys && visibleLine(keys.sequence)],
    ["ends with Enter", keys && (keys.ensure_enter ? "yes" : "as given")],
    ["due", reminder.next_due_at_utc],
    ["repeats", cadenceOf(reminder)],
    ["ranking", reminder.ranking],
    ["state", stateOf(reminder)],
    ["blocked by", reminder.blocked_by_reminder_id],
    ["waits for", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["last started", reminder.last_started_at_utc],
    ["created", reminder.created_at_utc],
  ]);
}

function cadenceOf({ interval_seconds: seconds }: ReminderRecord): string {
  return seconds === null ? "once" : `every ${seconds} s`;
}

function stateOf({ delivery_state, selection_state, paused }: ReminderRecord): string {
  return [delivery_state, selection_state === "blocked" ? "blocked" : "", paused ? "paused" : ""]
    .filter((part) => part !== "")
    .join(", ");
}
