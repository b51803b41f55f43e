import { and, asc, eq, gt, inArray } from "drizzle-orm";
import * as schema from "./catalog/schema.ts";
import type { Catalog } from "./catalog.ts";

const { messages, unsyncedMessages } = schema;

/**
 * A delivered message whose file may not be on disk. `createdAtUtc`: null for a message that the catalog
 * lacks.
 */
export interface UnsyncedMessage {
  seq: number;
  messageId: string;
  createdAtUtc: string | null;
  text: string;
}

/**
 * Texts of messages that a catalog keeps until their files are on disk. Each method reads or changes the
 * present file.
 */
export function openUnsyncedMessages(catalog: Pick<Catalog, "store">) {
  const db = () => catalog.store.db;
  // Numbers of settled rows are reused, so the id is compared too.
  const is = ({ seq, messageId }: UnsyncedMessage) =>
    and(eq(unsyncedMessages.seq, seq), eq(unsyncedMessages.messageId, messageId));
  return {
    /** Rows in order, after the sequence `after`. */
    waiting: ({ after, limit }: { after: number; limit: number }): UnsyncedMessage[] =>
      db()
        .select({
          seq: unsyncedMessages.seq,
          messageId: unsyncedMessages.messageId,
          createdAtUtc: messages.createdAtUtc,
          text: unsyncedMessages.text,
        })
        .from(unsyncedMessages)
        .leftJoin(messages, eq(messages.messageId, unsyncedMessages.messageId))
        .where(gt(unsyncedMessages.seq, after))
        .orderBy(asc(unsyncedMessages.seq))
        .limit(limit)
        .all(),
    has: (row: UnsyncedMessage): boolean =>
      db().select({ seq: unsyncedMessages.seq }).from(unsyncedMessages).where(is(row)).get() !== undefined,
    /**
     * Removes these rows. Not synced: rows that a power failure restores are checked again. `waits: false`
     * throws at once while another process writes.
     */
    settle(rows: readonly UnsyncedMessage[], { waits }: { waits: boolean }): void {
      if (rows.length === 0) return;
      catalog.store.write(
        "sql:mail-synced",
        (tx) => {
          const settled = and(
            inArray(
              unsyncedMessages.seq,
              rows.map(({ seq }) => seq),
            ),
            inArray(
              unsyncedMessages.messageId,
              rows.map(({ messageId }) => messageId),
            ),
          );
          tx.delete(unsyncedMessages).where(settled).run();
        },
        { durable: false, waits },
      );
    },
  };
}
