import type { Evidence } from "../../protocol/gateway.ts";
import { type Clock, timestampNow, toTimestamp } from "../../system/clock.ts";
import { previewKeys } from "../agent/key-sequence.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { Reminder, toLoss } from "./reminder.ts";

type Fields = Record<string, unknown>;

const previewLength = 120;

export function createReminderHistory(deps: { events: EventLog; log: Log; clock: Clock }) {
  const { events, log, clock } = deps;
  return {
    registered(reminder: Reminder): void {
      events.append("reminder_registered", definitionFields(reminder));
      log.line("registered reminder", { reminder_id: reminder.reminder_id });
    },
    updated(reminder: Reminder): void {
      events.append("reminder_updated", definitionFields(reminder));
      log.line("updated reminder", { reminder_id: reminder.reminder_id });
    },
    started(reminder: Reminder): void {
      events.append("reminder_started", {
        ...identityFields(reminder),
        paused: reminder.paused,
        ...keyFields(reminder),
        started_at_utc: reminder.last_started_at_utc,
        request_id: reminder.executing_request_id,
        delete_requested: false,
      });
      log.line("executing reminder", { reminder_id: reminder.reminder_id, kind: reminder.delivery_kind });
    },
    /** A start found it on disk. */
    restored(reminder: Reminder): void {
      const delivery_state = reminder.dueMs <= clock.nowMs() ? "overdue" : "scheduled";
      events.append("reminder_restored", { ...definitionFields(reminder), delivery_state });
      log.line("restored reminder", { reminder_id: reminder.reminder_id, state: delivery_state });
    },
    evidence({ reminder_id, executing_request_id: request_id }: Reminder, evidence: Evidence): void {
      events.append("reminder_evidence", { reminder_id, request_id, ...evidence });
    },
    deferred(reminder: Reminder, { reason, detail }: { reason: string; detail: string }): void {
      const next_due_at_utc = toTimestamp(reminder.dueMs);
      events.append("reminder_deferred", { ...identityFields(reminder), detail, next_due_at_utc });
      log.line("deferred reminder", { reminder_id: reminder.reminder_id, reason });
    },
    /** `errorDetail` null: delivered. `nextDueMs` null: it was the last time. */
    ended(
      ids: { reminder_id: string; request_id: string },
      { errorDetail, nextDueMs }: { errorDetail: string | null; nextDueMs: number | null },
    ): void {
      const verb = errorDetail === null ? "completed" : "failed";
      events.append(`reminder_${verb}`, {
        ...ids,
        finished_at_utc: timestampNow(clock),
        ...(nextDueMs === null ? {} : { next_due_at_utc: toTimestamp(nextDueMs) }),
        ...(errorDetail === null ? {} : { error_detail: errorDetail }),
      });
      log.line(`${verb} reminder`, { ...ids, error: errorDetail });
    },
    deleted(reminderId: string, { executing, detail }: { executing: boolean; detail: string }): void {
      events.append("reminder_deleted", {
        reminder_id: reminderId,
        executing,
        delete_requested: true,
        detail,
      });
      log.line("deleted reminder", { reminder_id: reminderId });
    },
    lost(losses: readonly ReturnType<typeof toLoss>[]): void {
      for (const loss of losses) events.append("reminder_lost_on_restart", loss);
      log.line("lost reminders", { count: losses.length });
    },
    /** Its row could not be read. */
    damaged(reminderId: string): void {
      events.append("reminder_lost_on_restart", { reminder_id: reminderId, detail: "its row is damaged" });
      log.line("damaged reminder", { reminder_id: reminderId });
    },
  };
}

function identityFields(reminder: Reminder): Fields {
  const { reminder_id, mode, delivery_kind, ranking } = reminder;
  return { reminder_id, mode, delivery_kind, ranking };
}

function definitionFields(reminder: Reminder): Fields {
  const { interval_seconds, prompt, created_at_utc, durable, independent, cron, time_zone } = reminder;
  return {
    ...identityFields(reminder),
    title: preview(reminder.title),
    paused: reminder.paused,
    ...(prompt === null ? {} : { prompt_length: prompt.length }),
    ...keyFields(reminder),
    next_due_at_utc: toTimestamp(reminder.dueMs),
    ...(interval_seconds === null ? {} : { interval_seconds }),
    ...(cron === null ? {} : { cron, time_zone }),
    ...(durable ? { durable } : {}),
    ...(independent ? { independent } : {}),
    created_at_utc,
  };
}

function keyFields({ send_keys: keys }: Reminder): Fields {
  return keys ? { sequence_preview: previewKeys(keys.sequence), ensure_enter: keys.ensure_enter } : {};
}

/** By characters, so that none is cut in two. */
export function preview(text: string): string {
  return [...text.slice(0, 2 * previewLength)].slice(0, previewLength).join("");
}
