import { Database } from "bun:sqlite";
import { basename } from "node:path";
import { and, asc, count, desc, eq, getTableColumns } from "drizzle-orm";
import { ServiceError } from "../../system/errors.ts";
import { createPrivately, refuseLinkedDatabase } from "../../system/own-file.ts";
import { countApplied, type Migration, refuseOtherShape } from "../migrations.ts";
import { attachments, messages, projections, recipients } from "./catalog/schema.ts";
import type { CatalogStore } from "./catalog.ts";

/** The result of an inspection; `broken` also for a file that is not a database. */
type FileVerdict = { kind: "sound" } | { kind: "broken"; why: string };

/**
 * Reads all of an existing database file and changes nothing. A file of a newer version counts as sound,
 * since opening it reports that. Never throws.
 */
export function inspectDatabase(path: string, migrations: readonly Migration[]): FileVerdict {
  try {
    refuseLinkedDatabase(path);
    // Writable, because the log of a file that was not closed must be replayed before it can be read.
    const database = new Database(path, { readwrite: true, create: false });
    try {
      database.run("PRAGMA busy_timeout=5000");
      const rows = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").all();
      const found = rows[0]?.quick_check ?? "no answer";
      if (found !== "ok") return { kind: "broken", why: found };
      const applied = nullIfOtherVersion(() => countApplied(database, migrations, basename(path)));
      if (applied !== null) refuseOtherShape(database, migrations.slice(0, applied));
      return { kind: "sound" };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns null when another version wrote the file. */
function nullIfOtherVersion(count: () => number): number | null {
  try {
    return count();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/**
 * Visits the readable rows of a table in a file that may be broken, as objects by column name. Throws only
 * errors of `visit`.
 */
export function salvageRows(
  path: string,
  table:
    | "attestation_keys"
    | "attested_mail"
    | "fleet_host"
    | "host_outbox"
    | "message_state"
    | "registrations"
    | "unsynced_messages",
  visit: (row: Record<string, unknown>) => void,
): void {
  const rows = readableRows(path, table);
  for (let next = rows.next(); !next.done; next = rows.next()) visit(next.value);
}

function* readableRows(path: string, table: string): Generator<Record<string, unknown>, void> {
  let database: Database | null = null;
  try {
    refuseLinkedDatabase(path);
    database = new Database(path, { readwrite: true, create: false });
    // A view of this name can be without an end.
    const isTable = database
      .query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
      .get(table);
    if (isTable === null) return;
    const query = database.query<Record<string, unknown>, []>(`SELECT * FROM ${table} NOT INDEXED`);
    yield* query.iterate();
  } catch {
    // The rows that were read until then are the result.
  } finally {
    database?.close();
  }
}

/**
 * Copies a database into one new file (0600), which is on disk at the end. Throws when the database cannot be
 * read or the copy cannot be created. Rename only such a copy: a remaining connection to the original would
 * share its log, under the old name, with the next connection of this process to the new name.
 */
export function snapshotDatabase(path: string, into: string): void {
  refuseLinkedDatabase(path);
  createPrivately(into);
  const database = new Database(path, { readwrite: true, create: false });
  try {
    for (const pragma of ["busy_timeout=5000", "synchronous=FULL"]) database.run(`PRAGMA ${pragma}`);
    database.run("VACUUM INTO ?", [into]);
  } finally {
    database.close();
  }
}

/** A message in one mailbox. `folder`: its first box. */
export type PlacedMessage = Omit<typeof messages.$inferSelect, "envelopeJson" | "bodyPreview"> & {
  folder: string;
};

/** Reads mailboxes and mail from the catalog, for administration. */
interface CatalogListing {
  /** Number of messages of a registration. */
  messageCount(registrationId: string): number;
  /** Newest first. */
  messagesOf(registrationId: string): PlacedMessage[];
  /** Null when this mailbox does not hold the message. */
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
