import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * index.sqlite, shared by all mailboxes of a root: who is registered, and what was delivered to whom. A
 * message is delivered exactly when its rows are here. Times are RFC 3339 text with milliseconds and `Z`;
 * paths are relative to the root, except where a mailbox lies outside of it. Source: spec/mailbox-agui.md A1,
 * A5, A7.
 */

/** One row. `generation` is new whenever the numbers of `projections` may have begun again. */
export const catalog = sqliteTable(
  "catalog",
  { singleton: integer().primaryKey(), generation: text().notNull() },
  (table) => [check("only_one_catalog", sql`${table.singleton} = 1`)],
);

export const registrations = sqliteTable(
  "registrations",
  {
    /** `reg-` and 32 hexadecimal characters. */
    registrationId: text("registration_id").primaryKey(),
    address: text().notNull(),
    ownerPrincipalId: text("owner_principal_id").notNull(),
    status: text({ enum: ["active", "inactive", "stashed"] }).notNull(),
    mailboxKind: text("mailbox_kind", { enum: ["in_root", "symlink"] }).notNull(),
    /** Where the mail lies: relative to the root for `in_root`, absolute for `symlink`. */
    mailboxPath: text("mailbox_path").notNull(),
    /** The entry below `mailboxes/`: the folder itself, or the symbolic link to it. */
    mailboxEntryPath: text("mailbox_entry_path").notNull(),
    displayName: text("display_name"),
    manifestPathHint: text("manifest_path_hint"),
    role: text(),
    createdAtUtc: text("created_at_utc").notNull(),
    deactivatedAtUtc: text("deactivated_at_utc"),
    replacedByRegistrationId: text("replaced_by_registration_id"),
  },
  (table) => [
    check(
      "status_known",
      sql`${table.status} = 'active' OR ${table.status} = 'inactive' OR ${table.status} = 'stashed'`,
    ),
    check("kind_known", sql`${table.mailboxKind} = 'in_root' OR ${table.mailboxKind} = 'symlink'`),
    uniqueIndex("one_active_registration").on(table.address).where(sql`status = 'active'`),
    index("registrations_by_address").on(table.address),
  ],
);

export const messages = sqliteTable("messages", {
  messageId: text("message_id").primaryKey(),
  threadId: text("thread_id").notNull(),
  inReplyTo: text("in_reply_to"),
  createdAtUtc: text("created_at_utc").notNull(),
  subject: text().notNull(),
  senderAddress: text("sender_address").notNull(),
  senderPrincipalId: text("sender_principal_id").notNull(),
  /** `messages/<date>/<message id>.md`. */
  canonicalPath: text("canonical_path").notNull(),
  /** The front matter of the canonical file as JSON: a list needs no file. */
  envelopeJson: text("envelope_json").notNull(),
  bodyPreview: text("body_preview").notNull(),
});

/** `ordinal` counts over to and cc together. */
export const recipients = sqliteTable(
  "recipients",
  {
    messageId: text("message_id").notNull(),
    ordinal: integer().notNull(),
    kind: text({ enum: ["to", "cc"] }).notNull(),
    address: text().notNull(),
    principalId: text("principal_id").notNull(),
    deliveredRegistrationId: text("delivered_registration_id"),
  },
  (table) => [
    primaryKey({ columns: [table.messageId, table.ordinal] }),
    check("recipient_kind_known", sql`${table.kind} = 'to' OR ${table.kind} = 'cc'`),
  ],
);

export const attachments = sqliteTable(
  "attachments",
  {
    messageId: text("message_id").notNull(),
    ordinal: integer().notNull(),
    attachmentId: text("attachment_id").notNull(),
    kind: text({ enum: ["path_ref", "managed_copy"] }).notNull(),
    path: text().notNull(),
    mediaType: text("media_type").notNull(),
    sha256: text(),
    sizeBytes: integer("size_bytes"),
    label: text(),
  },
  (table) => [
    primaryKey({ columns: [table.messageId, table.ordinal] }),
    index("attachments_by_id").on(table.attachmentId),
    check("attachment_kind_known", sql`${table.kind} = 'path_ref' OR ${table.kind} = 'managed_copy'`),
  ],
);

/** Which mailbox holds which message, in the order of delivery; `folder` is where it was put at first. */
export const projections = sqliteTable(
  "projections",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    registrationId: text("registration_id").notNull(),
    messageId: text("message_id").notNull(),
    folder: text().notNull(),
  },
  (table) => [
    uniqueIndex("one_projection").on(table.messageId, table.registrationId),
    index("projections_in_order").on(table.registrationId, table.seq),
  ],
);

/**
 * Public keys with which mailboxes sign what they send. `registration_id`: whose key it is here; null for a
 * mailbox of another host, whose first key is kept. Keys stay when a registration ends: mail signed with them
 * does too.
 */
export const attestationKeys = sqliteTable(
  "attestation_keys",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    address: text().notNull(),
    /** 32 bytes, base64url. */
    publicKey: text("public_key").notNull(),
    registrationId: text("registration_id"),
    seenAtUtc: text("seen_at_utc").notNull(),
  },
  (table) => [uniqueIndex("one_entry_for_each_key").on(table.address, table.publicKey)],
);

/**
 * What each mailbox has signed and sent, in its order. `hash`: of the entry, which the next one names. Also
 * the ids of mail from other hosts that was cleared, which may come again: with the address of its sender for
 * a registration, and no hash.
 */
export const attestedMail = sqliteTable(
  "attested_mail",
  {
    registrationId: text("registration_id").notNull(),
    sequence: integer().notNull(),
    messageId: text("message_id").notNull(),
    hash: text().notNull(),
    /** A person cleared the message: it is not to be there. */
    isCleared: integer("is_cleared", { mode: "boolean" }).notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.registrationId, table.sequence] }),
    index("attested_by_message").on(table.messageId),
  ],
);

/**
 * Under which name this machine has joined a fleet of hosts: mail to `name@host` goes there. No row: it has
 * joined none.
 */
export const fleetHost = sqliteTable(
  "fleet_host",
  { singleton: integer().primaryKey(), host: text().notNull() },
  (table) => [check("only_one_fleet_host", sql`${table.singleton} = 1`)],
);

/** Messages with recipients on another host that has not confirmed them, in the order of their commits. */
export const hostOutbox = sqliteTable(
  "host_outbox",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    messageId: text("message_id").notNull(),
    host: text().notNull(),
    acceptedAtUtc: text("accepted_at_utc").notNull(),
  },
  (table) => [uniqueIndex("one_entry_for_each_host").on(table.messageId, table.host)],
);

/**
 * Texts of messages whose files may not be on disk yet. A row goes once its file is; until then the text is
 * here, and a file that is missing or cut off after a crash is written from it. Few rows, most of the time
 * none.
 */
export const unsyncedMessages = sqliteTable("unsynced_messages", {
  seq: integer().primaryKey(),
  messageId: text("message_id").notNull(),
  /** The canonical file. */
  text: text().notNull(),
});

/**
 * What a committed change of registrations still has to do on disk; the process that finds a row does it.
 * `remove` of an absent path and `rename` of an absent `path` are done already. Paths are relative to the
 * root.
 */
export const pendingArtifacts = sqliteTable(
  "pending_artifacts",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    action: text({ enum: ["remove", "rename"] }).notNull(),
    path: text().notNull(),
    destination: text(),
  },
  (table) => [check("action_known", sql`${table.action} = 'remove' OR ${table.action} = 'rename'`)],
);
