import { and, asc, count, eq, gt, sql } from "drizzle-orm";
import * as schema from "./catalog/schema.ts";
import {
  type AttachmentRow,
  type CatalogStore,
  catalogStatements,
  type IndexedMessage,
  type MessageRow,
  type RegistrationRow,
} from "./catalog.ts";

const {
  attachments,
  attestedMail,
  hostOutbox,
  messages,
  projections,
  recipients,
  registrations,
  unsyncedMessages,
} = schema;

export interface Evidence {
  messageId: string;
  registrationId: string;
  folder: string;
}

/**
 * The changes of a repair to index.sqlite. Every write is one transaction and leaves a correct catalog, so a
 * repair may end at any point. The content of the mailboxes is in a temporary table, so memory is bounded.
 */
export interface CatalogRebuild {
  /** Records that a mailbox holds a message, by its state or its links; the first record is kept. */
  noteEvidence(rows: readonly Evidence[]): void;
  evidenceOf(messageId: string): Evidence[];
  knows(messageId: string): boolean;
  /** Whether a message was ever delivered with this file. */
  everDelivered(): boolean;
  knowsAttachment(attachmentId: string): boolean;
  /** Replaces the rows of known messages that differ and adds those of unknown messages. */
  index(batch: readonly IndexedMessage[]): void;
  /** Messages in the order of ids, after `messageId`. */
  messagesAfter(messageId: string, limit: number): { messageId: string; canonicalPath: string }[];
  saveRegistrations(rows: readonly RegistrationRow[]): void;
  /** Owner of an address, according to its newest message. */
  ownerBySender(address: string): string | null;
  /** Runs `work` while no other process writes, so that no delivery comes between a check and a change. */
  whileQuiet(work: () => void): void;
  counts(): { messages: number; projections: number; registrations: number };
}

export function rebuildCatalog(store: CatalogStore): CatalogRebuild {
  const { db } = store;
  db.run(
    sql`CREATE TEMP TABLE evidence (message_id TEXT, registration_id TEXT, folder TEXT, PRIMARY KEY (message_id, registration_id)) WITHOUT ROWID`,
  );
  const value = sql.placeholder;
  const byId = db
    .select()
    .from(messages)
    .where(eq(messages.messageId, value("id")))
    .prepare();
  const after = db
    .select({ messageId: messages.messageId, canonicalPath: messages.canonicalPath })
    .from(messages)
    .where(gt(messages.messageId, value("id")))
    .orderBy(asc(messages.messageId))
    .limit(value("limit"))
    .prepare();
  const attachmentById = db
    .select({ id: attachments.attachmentId })
    .from(attachments)
    .where(eq(attachments.attachmentId, value("id")))
    .prepare();

  const { addMessage, addRecipient, addAttachment, addProjection } = catalogStatements(store);
  const dropRecipients = db
    .delete(recipients)
    .where(eq(recipients.messageId, value("id")))
    .prepare();
  const dropAttachments = db
    .delete(attachments)
    .where(eq(attachments.messageId, value("id")))
    .prepare();

  function replace({ message, recipients: to, attachments: files, projections: where }: IndexedMessage) {
    const { messageId } = message;
    const known = byId.get({ id: messageId });
    if (!known || !sameMessage(known, message)) {
      dropRecipients.run({ id: messageId });
      dropAttachments.run({ id: messageId });
      if (known) db.update(messages).set(message).where(eq(messages.messageId, messageId)).run();
      else addMessage.run(message);
      for (const row of to) addRecipient.run(row);
      for (const row of files) addAttachment.run(row);
    }
    for (const row of where) addProjection.run({ messageId, ...row });
  }

  return {
    noteEvidence: (rows) =>
      db.transaction(() => {
        for (const { messageId, registrationId, folder } of rows) {
          db.run(sql`INSERT OR IGNORE INTO evidence VALUES (${messageId}, ${registrationId}, ${folder})`);
        }
      }),
    evidenceOf: (messageId) =>
      db.all<Evidence>(
        sql`SELECT message_id AS messageId, registration_id AS registrationId, folder FROM evidence WHERE message_id = ${messageId}`,
      ),
    knows: (id) => byId.get({ id }) !== undefined,
    everDelivered: () => db.all(sql`SELECT 1 FROM sqlite_sequence WHERE name = 'projections'`).length > 0,
    knowsAttachment: (id) => attachmentById.get({ id }) !== undefined,
    index(batch) {
      if (batch.every((one) => isUnchanged(one))) return;
      store.write("sql:mail-repair.index", () => {
        for (const one of batch) replace(one);
      });
    },
    messagesAfter: (id, limit) => after.all({ id, limit }),
    saveRegistrations: (rows) =>
      store.write("sql:mail-repair.registrations", () => {
        for (const row of rows) {
          db.insert(registrations)
            .values(row)
            .onConflictDoUpdate({ target: registrations.registrationId, set: row })
            .run();
        }
      }),
    ownerBySender: (address) =>
      db.all<{ owner: string }>(
        sql`SELECT owner FROM (
          SELECT sender_principal_id AS owner, created_at_utc FROM messages WHERE sender_address = ${address}
          UNION ALL
          SELECT principal_id, messages.created_at_utc FROM recipients JOIN messages USING (message_id)
            WHERE address = ${address}
        ) ORDER BY created_at_utc DESC LIMIT 1`,
      )[0]?.owner ?? null,
    whileQuiet: (work) => store.write("sql:mail-repair.quiet", () => work()),
    counts: () => ({
      messages: db.select({ n: count() }).from(messages).get()?.n ?? 0,
      projections: db.select({ n: count() }).from(projections).get()?.n ?? 0,
      registrations: db.select({ n: count() }).from(registrations).get()?.n ?? 0,
    }),
  };

  function isUnchanged({ message, projections: where }: IndexedMessage): boolean {
    const known = byId.get({ id: message.messageId });
    return where.length === 0 && known !== undefined && sameMessage(known, message);
  }
}

function sameMessage(left: MessageRow, right: MessageRow): boolean {
  return (Object.keys(right) as (keyof MessageRow)[]).every((key) => left[key] === right[key]);
}

/** A message to remove from one mailbox or from all. */
export interface RemovableMessage {
  messageId: string;
  canonicalPath: string;
  /** Null when only the file of the message remains. */
  senderAddress: string | null;
  /** Whether another registration also holds it. */
  shared: boolean;
  /** Hosts that have not confirmed it, separated by commas; null without any. */
  waitsFor: string | null;
}

/** Removes mail from index.sqlite. */
export interface CatalogRemoval {
  /** All messages, or those of one registration, oldest first. */
  messages(registrationId: string | null): RemovableMessage[];
  attachmentsOf(messageId: string): AttachmentRow[];
  /** Whether a registration holds a message. */
  holds(registrationId: string, messageId: string): boolean;
  /** Number of messages of a registration by their first box. */
  boxes(registrationId: string): { folder: string; count: number }[];
  /**
   * Removes, in one transaction, all rows of `gone`, and `forgotten` from the boxes of one registration. A
   * message that waits for another host is not removed. `foreign`: a sender on another host, which may send
   * the message again, so its id is kept.
   */
  remove(
    gone: readonly { messageId: string; foreign: string | null }[],
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
  const waits = db
    .select({ seq: hostOutbox.seq })
    .from(hostOutbox)
    .where(eq(hostOutbox.messageId, value("id")))
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
      .delete(unsyncedMessages)
      .where(eq(unsyncedMessages.messageId, value("id")))
      .prepare(),
    db
      .update(attestedMail)
      .set({ isCleared: true })
      .where(eq(attestedMail.messageId, value("id")))
      .prepare(),
    db
      .delete(messages)
      .where(eq(messages.messageId, value("id")))
      .prepare(),
  ];
  const keepId = db
    .insert(attestedMail)
    .values({
      registrationId: value("sender"),
      sequence: sql`(SELECT coalesce(max(sequence), 0) + 1 FROM attested_mail WHERE registration_id = ${value("sender")})`,
      messageId: value("id"),
      hash: "",
      isCleared: true,
    })
    .prepare();
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
        .select({
          messageId: messages.messageId,
          canonicalPath: messages.canonicalPath,
          senderAddress: messages.senderAddress,
          shared,
          waitsFor: sql<
            string | null
          >`(SELECT group_concat(host, ', ') FROM host_outbox WHERE host_outbox.message_id = messages.message_id)`,
        })
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
    remove(removed, forgotten) {
      store.write("sql:mail-clear", () => {
        for (const { messageId: id, foreign } of removed) {
          // A message whose file already existed may have been committed after the plan was made.
          if (waits.get({ id })) continue;
          for (const statement of gone) statement.run({ id });
          if (foreign !== null) keepId.run({ sender: foreign, id });
        }
        if (!forgotten) return;
        const { registrationId } = forgotten;
        for (const id of forgotten.messageIds) forget.run({ registrationId, id });
      });
    },
  };
}
