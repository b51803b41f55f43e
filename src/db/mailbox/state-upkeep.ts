import { and, asc, eq, gt, sql } from "drizzle-orm";
import { messageState } from "./state/schema.ts";
import type { StateRow, StateStore } from "./state.ts";

/** Maintenance of a mailbox.sqlite. Each writing call is one transaction. */
export interface StateUpkeep {
  /** Rows in the order of arrival. */
  rowsAfter(seq: number, limit: number): StateRow[];
  count(): number;
  /** Whether the newest row was removed. */
  newestRemoved(): boolean;
  /** Number of messages in each box. */
  boxes(): { box: string; count: number }[];
  /**
   * Removes the surplus rows among the next `limit` rows after `seq`. Returns the last read sequence; null
   * without rows. No other process writes meanwhile, so it sees all rows that were admitted before.
   */
  removeSurplus(page: { seq: number; limit: number }, isSurplus: (row: StateRow) => boolean): number | null;
  /** Restores the flags of rows that have not changed since they were `seen`. */
  restoreFlags(rows: readonly { seen: StateRow; flags: Flags }[]): void;
  /** Records the box of links (null without a link), unless another process changed it since `was`. */
  noteLinks(rows: readonly { seq: number; was: string | null; box: string | null }[]): void;
  /** Whether the content of the full-text search is correct, though perhaps incomplete. */
  textIsSound(): boolean;
  /** Empties the full-text search. */
  dropText(): void;
  /** Rows that the full-text search lacks, in the order of arrival. */
  withoutText(afterSeq: number, limit: number): StateRow[];
  addText(rows: readonly { seq: number; subject: string; sender: string; body: string }[]): void;
}

export type Flags = Pick<StateRow, "isRead" | "isAnswered" | "isStarred" | "isDeleted" | "boxName">;

export function upkeepOfState(store: StateStore): StateUpkeep {
  const { db } = store;
  const value = sql.placeholder;
  const page = db
    .select()
    .from(messageState)
    .where(gt(messageState.seq, value("seq")))
    .orderBy(asc(messageState.seq))
    .limit(value("limit"))
    .prepare();
  const gaps = db
    .select()
    .from(messageState)
    .where(
      sql`${messageState.seq} > ${value("seq")} AND ${messageState.seq} NOT IN (SELECT id FROM message_text_docsize)`,
    )
    .orderBy(asc(messageState.seq))
    .limit(value("limit"))
    .prepare();
  return {
    rowsAfter: (seq, limit) => page.all({ seq, limit }),
    count: () => db.select({ n: sql<number>`count(*)` }).from(messageState).get()?.n ?? 0,
    newestRemoved: () =>
      db.all(
        sql`SELECT 1 FROM sqlite_sequence
          WHERE name = 'message_state' AND seq > (SELECT coalesce(max(seq), 0) FROM message_state)`,
      ).length > 0,
    boxes: () =>
      db
        .select({ box: messageState.boxName, count: sql<number>`count(*)` })
        .from(messageState)
        .groupBy(messageState.boxName)
        .all(),
    removeSurplus: (after, isSurplus) =>
      store.write("sql:mail-state-removed", () => {
        const rows = page.all(after);
        for (const { seq } of rows.filter(isSurplus)) {
          db.run(sql`DELETE FROM message_text WHERE rowid = ${seq}`);
          db.delete(messageState).where(eq(messageState.seq, seq)).run();
        }
        return rows.at(-1)?.seq ?? null;
      }),
    restoreFlags(rows) {
      store.write("sql:mail-state-restored", () => {
        for (const { seen, flags } of rows) {
          const { isRead, isAnswered, isStarred, isDeleted, boxName } = flags;
          const isArchived = boxName === "archive";
          db.update(messageState)
            .set({ isRead, isAnswered, isStarred, isDeleted, boxName, isArchived })
            .where(
              and(
                eq(messageState.seq, seen.seq),
                eq(messageState.boxName, seen.boxName),
                eq(messageState.isRead, seen.isRead),
                eq(messageState.isAnswered, seen.isAnswered),
              ),
            )
            .run();
        }
      });
    },
    noteLinks(rows) {
      if (rows.length === 0) return;
      store.write("sql:mail-links-noted", () => {
        for (const { seq, was, box } of rows) {
          db.update(messageState)
            .set({ linkBox: box })
            .where(and(eq(messageState.seq, seq), sql`link_box IS ${was}`))
            .run();
        }
      });
    },
    textIsSound() {
      try {
        db.run(sql`INSERT INTO message_text (message_text) VALUES ('integrity-check')`);
        return true;
      } catch {
        return false;
      }
    },
    dropText() {
      store.write("sql:mail-text-dropped", () => {
        db.run(sql`INSERT INTO message_text (message_text) VALUES ('delete-all')`);
      });
    },
    withoutText: (seq, limit) => gaps.all({ seq, limit }),
    addText(rows) {
      store.write("sql:mail-text-added", () => {
        for (const { seq, subject, sender, body } of rows) {
          db.run(
            sql`INSERT INTO message_text (rowid, subject, sender, body) VALUES (${seq}, ${subject}, ${sender}, ${body})`,
          );
        }
      });
    },
  };
}
