import { and, eq, sql } from "drizzle-orm";
import { attachments, messages, projections, recipients } from "./catalog/schema.ts";
import type { AttachmentRow, CatalogStore } from "./catalog.ts";

/** A message that is to go from one mailbox or from all. */
export interface RemovableMessage {
  messageId: string;
  canonicalPath: string;
  /** Another registration holds it too. */
  shared: boolean;
}

/** Takes mail out of index.sqlite. */
export interface CatalogRemoval {
  /** All messages, or those that one registration holds; oldest first. */
  messages(registrationId: string | null): RemovableMessage[];
  attachmentsOf(messageId: string): AttachmentRow[];
  /** Whether a registration holds a message. */
  holds(registrationId: string, messageId: string): boolean;
  /** How many messages of a registration lie in each of its first boxes. */
  boxes(registrationId: string): { folder: string; count: number }[];
  /** One transaction: `gone` with all of their rows, `forgotten` from the boxes of one registration only. */
  remove(
    gone: readonly string[],
    forgotten: { registrationId: string; messageIds: readonly string[] } | null,
  ): void;
}

export function removeFromCatalog(store: CatalogStore): CatalogRemoval {
  const { db } = store;
  const value = sql.placeholder;
  const attached = db
    .select()
    .from(attachments)
    .where(eq(attachments.messageId, value("id")))
    .prepare();
  const held = db
    .select({ seq: projections.seq })
    .from(projections)
    .where(
      and(eq(projections.registrationId, value("registrationId")), eq(projections.messageId, value("id"))),
    )
    .prepare();
  const gone = [
    db
      .delete(projections)
      .where(eq(projections.messageId, value("id")))
      .prepare(),
    db
      .delete(recipients)
      .where(eq(recipients.messageId, value("id")))
      .prepare(),
    db
      .delete(attachments)
      .where(eq(attachments.messageId, value("id")))
      .prepare(),
    db
      .delete(messages)
      .where(eq(messages.messageId, value("id")))
      .prepare(),
  ];
  const forget = db
    .delete(projections)
    .where(
      and(eq(projections.registrationId, value("registrationId")), eq(projections.messageId, value("id"))),
    )
    .prepare();
  return {
    messages(registrationId) {
      const shared =
        registrationId === null
          ? sql<number>`0`
          : sql<number>`EXISTS (SELECT 1 FROM projections AS other WHERE other.message_id = messages.message_id AND other.registration_id <> ${registrationId})`;
      const query = db
        .select({ messageId: messages.messageId, canonicalPath: messages.canonicalPath, shared })
        .from(messages);
      const chosen =
        registrationId === null
          ? query
          : query.where(
              sql`${messages.messageId} IN (SELECT message_id FROM projections WHERE registration_id = ${registrationId})`,
            );
      return chosen
        .orderBy(messages.createdAtUtc, messages.messageId)
        .all()
        .map((row) => ({ ...row, shared: row.shared === 1 }));
    },
    attachmentsOf: (id) => attached.all({ id }),
    holds: (registrationId, id) => held.get({ registrationId, id }) !== undefined,
    boxes: (registrationId) =>
      db
        .select({ folder: projections.folder, count: sql<number>`count(*)` })
        .from(projections)
        .where(eq(projections.registrationId, registrationId))
        .groupBy(projections.folder)
        .all(),
    remove(messageIds, forgotten) {
      store.write("sql:mail-clear", () => {
        for (const id of messageIds) for (const statement of gone) statement.run({ id });
        if (!forgotten) return;
        const { registrationId } = forgotten;
        for (const id of forgotten.messageIds) forget.run({ registrationId, id });
      });
    },
  };
}
