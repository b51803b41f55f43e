import { sql } from "drizzle-orm";
import { check, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * mailbox.sqlite, one in each mailbox: the authority for the owner's view of each message. The full-text
 * table `message_text` (rowid = `seq`; columns subject, sender, body) and the view `thread_summaries` are in
 * a separate migration. Source: spec/mailbox-agui.md A5, A6.
 */
export const messageState = sqliteTable(
  "message_state",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    messageId: text("message_id").notNull().unique(),
    threadId: text("thread_id").notNull(),
    createdAtUtc: text("created_at_utc").notNull(),
    subject: text().notNull(),
    sender: text().notNull(),
    isRead: integer("is_read", { mode: "boolean" }).notNull(),
    isAnswered: integer("is_answered", { mode: "boolean" }).notNull(),
    isStarred: integer("is_starred", { mode: "boolean" }).notNull().default(false),
    isArchived: integer("is_archived", { mode: "boolean" }).notNull(),
    isDeleted: integer("is_deleted", { mode: "boolean" }).notNull().default(false),
    boxName: text("box_name").notNull(),
    /** The box whose folder holds the symbolic link; null when none does. */
    linkBox: text("link_box"),
    /** The front matter of the canonical file as JSON. */
    envelopeJson: text("envelope_json").notNull(),
    bodyPreview: text("body_preview").notNull(),
    /**
     * The last verdict on the signature: `verified`, `broken: <why>`, or null for an unsigned message.
     */
    attestation: text(),
  },
  (table) => [
    check("archived_is_a_box", sql`${table.isArchived} = (${table.boxName} = 'archive')`),
    index("in_box").on(table.boxName, table.createdAtUtc, table.messageId),
    index("in_box_by_read").on(table.boxName, table.isRead, table.createdAtUtc, table.messageId),
    index("in_box_by_answered").on(table.boxName, table.isAnswered, table.createdAtUtc, table.messageId),
    index("in_box_by_both").on(
      table.boxName,
      table.isRead,
      table.isAnswered,
      table.createdAtUtc,
      table.messageId,
    ),
    index("state_by_thread").on(table.threadId),
    index("link_to_move").on(table.seq).where(sql`link_box IS NOT box_name`),
  ],
);

/**
 * One row: the catalog and its last projection that this mailbox has read. With another generation or
 * registration than the catalog's, the mailbox compares from the beginning.
 */
export const seeded = sqliteTable(
  "seeded",
  {
    singleton: integer().primaryKey(),
    generation: text().notNull(),
    registrationId: text("registration_id").notNull(),
    seededSeq: integer("seeded_seq").notNull(),
  },
  (table) => [check("only_one_seeded", sql`${table.singleton} = 1`)],
);
