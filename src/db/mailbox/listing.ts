import { and, asc, count, desc, eq, getTableColumns } from "drizzle-orm";
import { attachments, messages, projections, recipients } from "./catalog/schema.ts";
import type { CatalogStore } from "./catalog.ts";

/** A message in one mailbox, by its place; `folder` is where it was put at first. */
export type PlacedMessage = Omit<typeof messages.$inferSelect, "envelopeJson" | "bodyPreview"> & {
  folder: string;
};

/** What the catalog knows of mailboxes and mail, for people who look after them. Reads only. */
export interface CatalogListing {
  /** How many messages a registration holds. */
  messageCount(registrationId: string): number;
  /** Newest first. */
  messagesOf(registrationId: string): PlacedMessage[];
  /** Null when this mailbox does not hold it. */
  messageOf(registrationId: string, messageId: string): PlacedMessage | null;
  recipientsOf(messageId: string): (typeof recipients.$inferSelect)[];
  attachmentsOf(messageId: string): (typeof attachments.$inferSelect)[];
}

export function listCatalog({ db }: CatalogStore): CatalogListing {
  const { envelopeJson: _envelope, bodyPreview: _preview, ...columns } = getTableColumns(messages);
  const placed = () =>
    db
      .select({ ...columns, folder: projections.folder })
      .from(projections)
      .innerJoin(messages, eq(messages.messageId, projections.messageId));
  return {
    messageCount: (id) =>
      db.select({ n: count() }).from(projections).where(eq(projections.registrationId, id)).get()?.n ?? 0,
    messagesOf: (id) =>
      placed()
        .where(eq(projections.registrationId, id))
        .orderBy(desc(messages.createdAtUtc), desc(messages.messageId))
        .all(),
    messageOf: (id, messageId) =>
      placed()
        .where(and(eq(projections.registrationId, id), eq(projections.messageId, messageId)))
        .get() ?? null,
    recipientsOf: (messageId) =>
      db
        .select()
        .from(recipients)
        .where(eq(recipients.messageId, messageId))
        .orderBy(asc(recipients.ordinal))
        .all(),
    attachmentsOf: (messageId) =>
      db
        .select()
        .from(attachments)
        .where(eq(attachments.messageId, messageId))
        .orderBy(asc(attachments.ordinal))
        .all(),
  };
}
