import { Database } from "bun:sqlite";
import { basename } from "node:path";
import { and, asc, count, desc, eq, getTableColumns } from "drizzle-orm";
import { ServiceError } from "../../system/errors.ts";
import { createPrivately, refuseLinkedDatabase } from "../../system/own-file.ts";
import { countApplied, type Migration, refuseOtherShape } from "../migrations.ts";
import { attachments, messages, projections, recipients } from "./catalog/schema.ts";
import type { CatalogStore } from "./catalog.ts";

/** What a database file turned out to be; `broken` also where it is no database at all. */
type FileVerdict = { kind: "sound" } | { kind: "broken"; why: string };

/**
 * Reads all of an existing database file and changes nothing. One of a newer version counts as sound: who
 * opens it is reported. Never throws.
 */
export function inspectDatabase(path: string, migrations: readonly Migration[]): FileVerdict {
  try {
    refuseLinkedDatabase(path);
    // Writable, because a file that was not closed in peace needs its log played back before it can be read.
    const database = new Database(path, { readwrite: true, create: false });
    try {
      database.run("PRAGMA busy_timeout=5000");
      const rows = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").all();
      const found = rows[0]?.quick_check ?? "no answer";
      if (found !== "ok") return { kind: "broken", why: found };
      const applied = ours(() => countApplied(database, migrations, basename(path)));
      if (applied !== null) refuseOtherShape(database, migrations.slice(0, applied));
      return { kind: "sound" };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

/** Null where another version wrote the file. */
function ours(count: () => number): number | null {
  try {
    return count();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/**
 * Visits the rows of a table that can still be read from a file that may be broken, as objects by column
 * name; what cannot be read is left out. Throws only what `visit` throws.
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
 * A copy of a database as it is at this moment, in one new file (0600) that is on disk at the end. Throws
 * when it cannot be read or made. What is to be moved to another name has to be such a copy: a connection
 * that still lingers on the original would share its log, under the old name, with the next connection of
 * this process to the new one.
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

/** A message in one mailbox, by its place; `folder` is where it was put at first. */
export type PlacedMessage = Omit<typeof messages.$inferSelect, "envelopeJson" | "bodyPreview"> & {
  folder: string;
};

/** What the catalog knows of mailboxes and mail, for people who look after them. Reads only. */
interface CatalogListing {
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
