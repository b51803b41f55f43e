import { Value } from "@sinclair/typebox/value";
import { renderJson } from "../../protocol/json.ts";
import { ReminderLedger, type ReminderRecord } from "../../protocol/reminders.ts";
import type { Files } from "../../system/files.ts";

/**
 * What a process would take with it. Reminders themselves are memory only (contract 8); this keeps just enough for
 * the next process to report which were lost, also when this one has no time to say so.
 */
export interface Ledger {
  /** What the former process left; the next call finds nothing. Null when nothing was lost or it cannot be read. */
  takeOver(): ReminderLedger | null;
  /** Replaces what is kept. */
  keep(ledger: Pick<ReminderLedger, "lost_at_utc" | "reminders">): void;
}

/** Keeps it at `path`, unsynced: after a loss of power only the report is lost. A failed write is reported. */
export function createLedger(deps: {
  files: Files;
  path: string;
  onError: (error: unknown) => void;
}): Ledger {
  const { files, path, onError } = deps;

  function attempt<T>(task: () => T): T | null {
    try {
      return task();
    } catch (error) {
      onError(error);
      return null;
    }
  }

  return {
    takeOver: () =>
      attempt(() => {
        const text = files.readOwn(path);
        if (text === null) return null;
        files.removeFile("file:reminders", path);
        const ledger: unknown = JSON.parse(text);
        return Value.Check(ReminderLedger, ledger) && ledger.reminders.length > 0 ? ledger : null;
      }),
    keep({ lost_at_utc, reminders }) {
      attempt(() => {
        if (reminders.length === 0) return files.removeFile("file:reminders", path);
        const text = renderJson({ schema_version: 1, lost_at_utc, reminders });
        return files.write("file:reminders", path, text, { durable: false });
      });
    },
  };
}

/** What is kept of a reminder: none of its texts. Pure. */
export function toEntry(record: ReminderRecord): ReminderLedger["reminders"][number] {
  const { reminder_id, mode, delivery_kind, ranking, paused, selection_state, next_due_at_utc } = record;
  return { reminder_id, mode, delivery_kind, ranking, paused, selection_state, next_due_at_utc };
}
