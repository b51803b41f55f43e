import { eq, getTableColumns, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Steps } from "../../system/steps.ts";
import { damaged } from "../migrations.ts";
import { openStore, type Store } from "../open.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import { catalogMigrations } from "./catalog/migrations.ts";
import * as schema from "./catalog/schema.ts";
import { createReopeningHandle } from "./reopening-handle.ts";

const {
  attachments,
  attestedMail,
  catalog,
  hostOutbox,
  messages,
  pendingArtifacts,
  projections,
  recipients,
  registrations,
  unsyncedMessages,
} = schema;

export type CatalogStore = Store;
export type RegistrationRow = typeof registrations.$inferSelect;
export type PendingArtifact = Pick<typeof pendingArtifacts.$inferSelect, "action" | "path" | "destination">;
export type MessageRow = typeof schema.messages.$inferSelect;
type RecipientRow = typeof schema.recipients.$inferSelect;
/** An entry in the chain of messages that a mailbox signed and sent. */
export type AttestedRow = Omit<typeof attestedMail.$inferSelect, "isCleared">;
export type AttachmentRow = typeof schema.attachments.$inferSelect;

/** A message of one mailbox in the catalog; `seq` counts deliveries. */
export type ProjectedMessage = Omit<MessageRow, "senderPrincipalId"> & { seq: number; folder: string };

/** A message with all of its rows in the catalog. */
export interface IndexedMessage {
  message: MessageRow;
  recipients: readonly RecipientRow[];
  attachments: readonly AttachmentRow[];
  /** Registrations whose mailboxes hold the message. */
  projections: readonly { registrationId: string; folder: string }[];
  /** Hosts to which the message must be sent, with the time of acceptance. */
  outgoing?: readonly { host: string; acceptedAtUtc: string }[];
  /** The sender's entry for the message. */
  attested?: AttestedRow | null;
  /** Text of the message's file until it is on disk. */
  unsynced?: string | null;
}

/** The reads that a delivery depends on. */
export type CatalogReads = Pick<Catalog, "active" | "newestAttested">;

/** A change of registrations, for one transaction. */
export interface RegistrationChange {
  /** Rows to insert or replace, by id. At most one active registration per address remains. */
  save: readonly RegistrationRow[];
  /** Registrations to remove. */
  remove: readonly string[];
  /** Registrations whose mail is removed. */
  forget: readonly string[];
  /** Changes to files after the commit. */
  artifacts: readonly PendingArtifact[];
}

/**
 * index.sqlite of a root. Methods read the present file, also after another process has replaced it. Changes
 * are on disk when a method returns. Errors of SQLite are thrown unchanged.
 */
export interface Catalog {
  /** The present file, for maintenance; read this property again before each use. */
  readonly store: CatalogStore;
  generation(): string;
  active(address: string): RegistrationRow | null;
  /** Newest first. */
  registrationsAt(address: string): RegistrationRow[];
  /** By address, then newest first. */
  registrations(): RegistrationRow[];
  /** Applies the change of `plan`, which runs in the transaction; when it throws, nothing changes. */
  changeRegistrations<T>(label: string, plan: () => { change: RegistrationChange; result: T }): T;
  pending(): PendingArtifact[];
  /** Runs `settle` for each pending artifact, oldest first, while no other process writes, and removes it. */
  settlePending(label: string, settle: (artifact: PendingArtifact) => void): void;
  /**
   * Runs `work` while no other process changes the catalog. `waits: false` throws at once while one does.
   */
  undisturbed<T>(label: string, work: () => T, options?: { waits: boolean }): T;
  /**
   * Stores a message with all of its rows and returns the store that has them. `check` runs in the
   * transaction, on the same file; when it throws, nothing changes.
   */
  deliver(label: string, delivery: IndexedMessage, check: (now: CatalogReads) => void): CatalogStore;
  knows(messageId: string): boolean;
  /** Registrations that hold a message. */
  holders(messageId: string): string[];
  /**
   * The `unsynced` text of `deliver` while the message's file may not be on disk; null otherwise and for an
   * unknown message.
   */
  unsyncedText(messageId: string): string | null;
  /** The newest entry that a registration signed and sent; null before the first. */
  newestAttested(registrationId: string): AttestedRow | null;
  /** 0 for a registration without mail. */
  newestProjection(registrationId: string): number;
  /** Oldest first. */
  projectionsAfter(registrationId: string, seq: number, limit: number): ProjectedMessage[];
  close(): void;
}

/**
 * Opens an existing file, or creates it with `create`. `beginning`: the root is not complete, so another
 * process may be about to fill an empty file.
 */
export function openCatalog(options: {
  path: string;
  files: Files;
  clock: Clock;
  ids: Ids;
  steps: Steps;
  create?: boolean;
  beginning?: boolean;
}): Catalog {
  const { path, files, ids, create = false, beginning = false } = options;
  let mayBeEmpty = create || beginning;

  function open() {
    // SQLite takes an empty file for a new database, which would have no registrations.
    if (!mayBeEmpty && files.stat(path)?.size === 0) throw damaged("it was emptied");
    const store: CatalogStore = openStore({ ...options, migrations: catalogMigrations });
    const prepared = catalogStatements(store);
    if (!prepared.generation.get()) {
      store.write("sql:mail-catalog", (db) => {
        db.insert(catalog)
          .values({ singleton: 1, generation: ids.hex(16) })
          .onConflictDoNothing()
          .run();
      });
    }
    return { store, prepared, close: () => store.close() };
  }
  if (create && !files.exists(path)) open().close();
  mayBeEmpty = beginning;
  const handle = createReopeningHandle({ files, path, open });
  const prepared = () => handle.present().prepared;
  prepared();

  return {
    get store() {
      return handle.present().store;
    },
    generation: () => prepared().generation.get()?.generation ?? "",
    active: (address) => readsOf(prepared()).active(address),
    registrationsAt: (address) => prepared().at.all({ address }),
    registrations: () =>
      handle
        .present()
        .store.db.select()
        .from(registrations)
        .orderBy(registrations.address, sql`created_at_utc DESC`, sql`rowid DESC`)
        .all(),
    changeRegistrations: (label, plan) =>
      handle.present().store.write(label, (db) => {
        const { change, result } = plan();
        for (const id of [...change.remove, ...change.forget]) {
          db.delete(projections).where(eq(projections.registrationId, id)).run();
        }
        for (const id of change.remove) {
          db.delete(registrations).where(eq(registrations.registrationId, id)).run();
        }
        for (const row of change.save) {
          db.insert(registrations)
            .values(row)
            .onConflictDoUpdate({ target: registrations.registrationId, set: row })
            .run();
        }
        for (const artifact of change.artifacts) db.insert(pendingArtifacts).values(artifact).run();
        return result as typeof result extends Promise<unknown> ? never : typeof result;
      }),
    pending: () => prepared().pending.all(),
    settlePending(label, settle) {
      handle.present().store.write(label, (db) => {
        for (const artifact of prepared().pending.all()) {
          settle(artifact);
          db.delete(pendingArtifacts).where(eq(pendingArtifacts.id, artifact.id)).run();
        }
      });
    },
    undisturbed<T>(label: string, work: () => T, options = { waits: true }): T {
      const done: { result: T }[] = [];
      const { store } = handle.present();
      store.write(label, () => void done.push({ result: work() }), options);
      return (done[0] as { result: T }).result;
    },
    deliver(label, delivery, check) {
      return handle.withRetry(({ store, prepared: statements }) => {
        store.write(label, () => {
          check(readsOf(statements));
          const { messageId } = delivery.message;
          statements.addMessage.run(delivery.message);
          for (const row of delivery.recipients) statements.addRecipient.run(row);
          for (const row of delivery.attachments) statements.addAttachment.run(row);
          for (const row of delivery.projections) statements.addProjection.run({ messageId, ...row });
          for (const row of delivery.outgoing ?? []) statements.addOutgoing.run({ messageId, ...row });
          if (delivery.attested) statements.addAttested.run(delivery.attested);
          if (delivery.unsynced) statements.addUnsynced.run({ messageId, text: delivery.unsynced });
        });
        return store;
      });
    },
    knows: (messageId) => prepared().known.get({ messageId }) !== undefined,
    holders: (messageId) =>
      prepared()
        .holders.all({ messageId })
        .map((row) => row.registrationId),
    unsyncedText: (messageId) => prepared().unsynced.get({ messageId })?.text ?? null,
    newestAttested: (registrationId) => readsOf(prepared()).newestAttested(registrationId),
    newestProjection: (registrationId) => prepared().newest.get({ registrationId })?.seq ?? 0,
    projectionsAfter: (registrationId, seq, limit) => prepared().after.all({ registrationId, seq, limit }),
    close: () => handle.close(),
  };
}

function readsOf(statements: Statements): CatalogReads {
  return {
    active: (address) => statements.active.get({ address }) ?? null,
    newestAttested: (registrationId) => statements.newestAttested.get({ registrationId }) ?? null,
  };
}

type PendingRow = typeof pendingArtifacts.$inferSelect;

const { isCleared: _, ...attestedColumns } = getTableColumns(attestedMail);
const { senderPrincipalId: __, ...projectedColumns } = getTableColumns(messages);

type Statements = ReturnType<typeof catalogStatements>;

/** The statements of every delivery and every read of a mailbox. */
export function catalogStatements({ client }: Pick<Store, "client">) {
  const adding = <T extends SQLiteTable>(
    table: T,
    names: readonly (keyof T["$inferSelect"] & keyof T["$inferInsert"] & string)[],
  ) => prepare<Partial<T["$inferSelect"]>>(client, `${insertText(table, names)} ON CONFLICT DO NOTHING`);
  const registrationList = `SELECT ${selectList(getTableColumns(registrations))} FROM registrations`;
  return {
    generation: prepare<object, { generation: string }>(client, "SELECT generation FROM catalog"),
    active: prepare<{ address: string }, RegistrationRow>(
      client,
      `${registrationList} WHERE address = :address AND status = 'active'`,
    ),
    at: prepare<{ address: string }, RegistrationRow>(
      client,
      `${registrationList} WHERE address = :address ORDER BY created_at_utc DESC, rowid DESC`,
    ),
    pending: prepare<object, PendingRow>(
      client,
      `SELECT ${selectList(getTableColumns(pendingArtifacts))} FROM pending_artifacts ORDER BY id`,
    ),
    newest: prepare<{ registrationId: string }, { seq: number | null }>(
      client,
      "SELECT max(seq) AS seq FROM projections WHERE registration_id = :registrationId",
    ),
    after: prepare<{ registrationId: string; seq: number; limit: number }, ProjectedMessage>(
      client,
      `SELECT projections.seq AS seq, projections.folder AS folder, ${selectList(projectedColumns)}
       FROM projections JOIN messages ON messages.message_id = projections.message_id
       WHERE projections.registration_id = :registrationId AND projections.seq > :seq
       ORDER BY projections.seq LIMIT :limit`,
    ),
    known: prepare<{ messageId: string }, { messageId: string }>(
      client,
      "SELECT message_id AS messageId FROM messages WHERE message_id = :messageId",
    ),
    holders: prepare<{ messageId: string }, { registrationId: string }>(
      client,
      "SELECT registration_id AS registrationId FROM projections WHERE message_id = :messageId",
    ),
    unsynced: prepare<{ messageId: string }, { text: string }>(
      client,
      "SELECT text FROM unsynced_messages WHERE message_id = :messageId",
    ),
    newestAttested: prepare<{ registrationId: string }, AttestedRow>(
      client,
      `SELECT ${selectList(attestedColumns)} FROM attested_mail
       WHERE registration_id = :registrationId ORDER BY sequence DESC LIMIT 1`,
    ),
    addMessage: adding(messages, [
      "messageId",
      "threadId",
      "inReplyTo",
      "createdAtUtc",
      "subject",
      "senderAddress",
      "senderPrincipalId",
      "canonicalPath",
      "envelopeJson",
      "bodyPreview",
    ]),
    addRecipient: adding(recipients, [
      "messageId",
      "ordinal",
      "kind",
      "address",
      "principalId",
      "deliveredRegistrationId",
    ]),
    addAttachment: adding(attachments, [
      "messageId",
      "ordinal",
      "attachmentId",
      "kind",
      "path",
      "mediaType",
      "sha256",
      "sizeBytes",
      "label",
    ]),
    addOutgoing: adding(hostOutbox, ["messageId", "host", "acceptedAtUtc"]),
    addAttested: adding(attestedMail, ["registrationId", "sequence", "messageId", "hash"]),
    addUnsynced: prepare<{ messageId: string; text: string }>(
      client,
      insertText(unsyncedMessages, ["messageId", "text"]),
    ),
    addProjection: adding(projections, ["registrationId", "messageId", "folder"]),
  };
}
