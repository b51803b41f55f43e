import { type Static, Type } from "@sinclair/typebox";
import { desc, eq, getTableColumns, lt } from "drizzle-orm";
import { ReminderFiring, ReminderRecord } from "../../protocol/reminders.ts";
import { Nullable } from "../../protocol/wire.ts";
import { parseColumn } from "../json-column.ts";
import { namingFile } from "../open.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import type { GatewayDatabase } from "./request-store.ts";
import { reminderFirings, reminders } from "./schema.ts";

/** Fields for the report of a reminder's loss, without its texts. */
const lossFields = {
  ...Type.Pick(ReminderRecord, ["reminder_id", "mode", "delivery_kind", "ranking", "paused"]).properties,
  independent: Type.Boolean(),
  /** Order of creation. */
  order: Type.Integer(),
  /** Next due time, epoch milliseconds with fraction. */
  dueMs: Type.Number(),
};
const LostReminder = Type.Object(lossFields);
export type LostReminder = Static<typeof LostReminder>;

/**
 * A stored reminder: the fields of its record that depend neither on other reminders nor on the clock. A new
 * field must be optional, because rows of earlier versions lack it and an invalid row counts as damaged.
 */
const StoredReminder = Type.Object({
  ...lossFields,
  ...Type.Pick(ReminderRecord, ["title", "prompt", "send_keys", "created_at_utc"]).properties,
  ...Type.Pick(ReminderRecord, ["interval_seconds", "last_started_at_utc"]).properties,
  durable: Type.Boolean(),
  cron: Nullable(Type.String()),
  time_zone: Nullable(Type.String()),
  last_request_id: Nullable(Type.String()),
  /** The running delivery. After a restart it is unknown whether the agent got it. */
  executing_request_id: Nullable(Type.String()),
});
export type StoredReminder = Static<typeof StoredReminder>;

/** Reminders that the previous process left. */
interface PreviousReminders {
  kept: StoredReminder[];
  /** `lostAtUtc`: when a clean stop reported them; null after a crash. */
  lost: LostReminder[];
  lostAtUtc: string | null;
  /** Ids of durable reminders with an unreadable row. */
  damaged: string[];
}

/**
 * The reminders' part of queue.sqlite. Changes of a durable reminder are on disk when a method returns. Other
 * reminders are stored without a sync, and only with the fields for the report of their loss.
 */
export interface ReminderStore {
  left(): PreviousReminders;
  /** Removes lost and damaged reminders, so that the next start does not report them again. */
  forget(left: PreviousReminders): void;
  /**
   * Saves all reminders or none. `durable`: sync, which is required when a reminder is or was durable.
   */
  save(changed: readonly StoredReminder[], how: { durable: boolean }): void;
  remove(reminder: Pick<StoredReminder, "reminder_id" | "durable">): void;
  /** Records that a clean stop reported the reminders that are not durable. */
  markLost(atUtc: string): void;
  /** Records an ended delivery. `left`: the updated reminder; null removes it. */
  end(
    reminder: Pick<StoredReminder, "reminder_id" | "durable">,
    left: StoredReminder | null,
    firing: ReminderFiring,
  ): void;
  /** Newest first. */
  firings(limit: number): ReminderFiring[];
}

/** Number of firings to keep; older ones are removed in batches. */
const keptFirings = 200;
const pruneEvery = 50;

export function reminderStoreOn(store: GatewayDatabase): ReminderStore {
  const { db, client } = store;
  type Row = typeof reminders.$inferSelect;
  const all = prepare<object, Omit<Row, "durable"> & { durable: number }>(
    client,
    `SELECT ${selectList(getTableColumns(reminders))} FROM gateway_reminders`,
  );
  const upsert = prepare<Omit<Row, "lostAtUtc">>(
    client,
    `${insertText(reminders, ["reminderId", "durable", "reminderJson"])} ON CONFLICT (reminder_id)
       DO UPDATE SET durable = excluded.durable, reminder_json = excluded.reminder_json`,
  );
  const put = (reminder: StoredReminder) =>
    upsert.run({
      reminderId: reminder.reminder_id,
      durable: reminder.durable,
      reminderJson: JSON.stringify(reminder.durable ? reminder : lossOf(reminder)),
    });
  const drop = (reminderId: string) => db.delete(reminders).where(eq(reminders.reminderId, reminderId)).run();

  return namingFile(store, {
    left() {
      const left: PreviousReminders = { kept: [], lost: [], lostAtUtc: null, damaged: [] };
      for (const { reminderId, durable, reminderJson, lostAtUtc } of all.all()) {
        try {
          const where = `reminder_json of ${reminderId}`;
          if (durable) left.kept.push(parseColumn(StoredReminder, reminderJson, where));
          else left.lost.push(parseColumn(LostReminder, reminderJson, where));
        } catch {
          if (durable) left.damaged.push(reminderId);
        }
        left.lostAtUtc ??= lostAtUtc;
      }
      const byOrder = (one: LostReminder, other: LostReminder) => one.order - other.order;
      return { ...left, kept: left.kept.sort(byOrder), lost: left.lost.sort(byOrder) };
    },
    forget({ damaged, lost }) {
      const gone = [...damaged, ...lost.map(({ reminder_id }) => reminder_id)];
      if (gone.length > 0) store.write("sql:reminders-taken-over", () => gone.forEach(drop));
    },
    save(changed, { durable }) {
      store.write("sql:reminders", () => changed.forEach(put), { durable });
    },
    remove({ reminder_id, durable }) {
      store.write("sql:reminders", () => void drop(reminder_id), { durable });
    },
    markLost(atUtc) {
      store.write(
        "sql:reminders",
        () => void db.update(reminders).set({ lostAtUtc: atUtc }).where(eq(reminders.durable, false)).run(),
        { durable: false },
      );
    },
    end({ reminder_id, durable }, left, firing) {
      store.write(
        "sql:reminder-end",
        () => {
          if (left) put(left);
          else drop(reminder_id);
          const { id } = db
            .insert(reminderFirings)
            .values({ firingJson: JSON.stringify(firing) })
            .returning({ id: reminderFirings.firingId })
            .get();
          if (id % pruneEvery === 0) {
            db.delete(reminderFirings)
              .where(lt(reminderFirings.firingId, id - keptFirings))
              .run();
          }
        },
        { durable },
      );
    },
    firings: (limit) =>
      db
        .select()
        .from(reminderFirings)
        .orderBy(desc(reminderFirings.firingId))
        .limit(limit)
        .all()
        .map(({ firingId, firingJson }) =>
          parseColumn(ReminderFiring, firingJson, `firing_json of row ${firingId}`),
        ),
  });
}

function lossOf(reminder: StoredReminder): LostReminder {
  const { reminder_id, mode, delivery_kind, ranking, paused, independent, order, dueMs } = reminder;
  return { reminder_id, mode, delivery_kind, ranking, paused, independent, order, dueMs };
}
