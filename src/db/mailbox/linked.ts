import { Database } from "bun:sqlite";
import { refuseLinkedDatabase } from "../../system/own-file.ts";
import type { RegistrationRow } from "./catalog.ts";

/** A registration of a mailbox outside of its root. The file is untrusted: a column may hold any value. */
type LinkedRow = Pick<
  RegistrationRow,
  "registrationId" | "address" | "status" | "mailboxKind" | "mailboxPath" | "mailboxEntryPath"
>;

const columns =
  "registration_id AS registrationId, address, status, mailbox_kind AS mailboxKind, mailbox_path AS mailboxPath, mailbox_entry_path AS mailboxEntryPath";
/** Maximum number of folders in an archive. */
const maxRows = 100_000;

/**
 * Lists mailboxes outside of their root from the index.sqlite at `path`, of any version, without changing it.
 * Throws for a damaged file.
 */
export function listLinkedMailboxes(path: string): LinkedRow[] {
  refuseLinkedDatabase(path);
  const database = new Database(path, { readonly: true, strict: true });
  try {
    database.run("PRAGMA busy_timeout=5000");
    // A view of this name can be without an end.
    const isTable = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    if (isTable.get("registrations") === null) return [];
    return database
      .query<LinkedRow, []>(
        `SELECT ${columns} FROM registrations WHERE mailbox_kind = 'symlink' ORDER BY address, created_at_utc DESC LIMIT ${maxRows}`,
      )
      .all();
  } finally {
    database.close();
  }
}

/**
 * Changes the path of a mailbox outside of its root from `from` to `to`, in a restored index.sqlite at
 * `path`.
 */
export function moveLinkedMailbox(path: string, from: string, to: string): void {
  refuseLinkedDatabase(path);
  const database = new Database(path, { readwrite: true, create: false, strict: true });
  try {
    database.run("PRAGMA busy_timeout=5000");
    database
      .query("UPDATE registrations SET mailbox_path = ? WHERE mailbox_kind = 'symlink' AND mailbox_path = ?")
      .run(to, from);
  } finally {
    database.close();
  }
}
