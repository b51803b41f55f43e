import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * index.sqlite, shared by all mailboxes of a root: registrations and deliveries. A message is delivered
 * exactly when its rows are here. Times are RFC 3339 text with milliseconds and `Z`. Paths are relative to
 * the root, except for a mailbox outside of it. Source: spec/mailbox-agui.md A1, A5, A7.
 */

/** One row. `generation` changes whenever the numbers of `projections` may have restarted. */
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
    /** Path of the mailbox folder: relative to the root for `in_root`, absolute for `symlink`. */
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
  /** The front matter of the canonical file as JSON, so that a list needs no file. */
  envelopeJson: text("envelope_json").notNull(),
  bodyPreview: text("body_preview").notNull(),
});

/** `ordinal` counts to and cc together. */
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

/** Messages of each mailbox, in the order of delivery. `folder`: the first box of the message. */
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
 * Public keys of mailboxes. `registration_id`: the registration with this key; null for a mailbox of another
 * host, whose first key is kept. Keys remain after a registration ends, like the mail that they signed.
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
 * The messages that each mailbox signed and sent, in order. `hash`: hash of the entry, which the next entry
 * names. Also the ids of cleared mail from other hosts, which may arrive again; those rows have the sender's
 * address as registration and no hash.
 */
export const attestedMail = sqliteTable(
  "attested_mail",
  {
    registrationId: text("registration_id").notNull(),
    sequence: integer().notNull(),
    messageId: text("message_id").notNull(),
    hash: text().notNull(),
    /** Whether a person cleared the message, so that it is expected to be absent. */
    isCleared: integer("is_cleared", { mode: "boolean" }).notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.registrationId, table.sequence] }),
    index("attested_by_message").on(table.messageId),
  ],
);

/**
 * The name under which this machine has joined a fleet of hosts, for mail to `name@host`. No row: it has
 * joined none.
 */
export const fleetHost = sqliteTable(
  "fleet_host",
  { singleton: integer().primaryKey(), host: text().notNull() },
  (table) => [check("only_one_fleet_host", sql`${table.singleton} = 1`)],
);

/** Messages that a recipient's host has not confirmed, in the order of their commits. */
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
 * Texts of messages whose files may not be on disk. A row is removed when its file is on disk. After a crash
 * a missing or truncated file is written from it. Usually there are no rows.
 */
export const unsyncedMessages = sqliteTable("unsynced_messages", {
  seq: integer().primaryKey(),
  messageId: text("message_id").notNull(),
  /** The canonical file. */
  text: text().notNull(),
});

/**
 * Changes to files that a committed change of registrations still needs; any process may carry them out.
 * `remove` and `rename` of an absent `path` are already done. Paths are relative to the root.
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
