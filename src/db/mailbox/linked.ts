import { Database } from "bun:sqlite";
import { refuseLinkedDatabase } from "../../system/own-file.ts";
import type { RegistrationRow } from "./catalog.ts";

/** A registration of a mailbox outside of its root, as somebody wrote it: any column may hold anything. */
type LinkedRow = Pick<
  RegistrationRow,
  "registrationId" | "address" | "status" | "mailboxKind" | "mailboxPath" | "mailboxEntryPath"
>;

const columns =
  "registration_id AS registrationId, address, status, mailbox_kind AS mailboxKind, mailbox_path AS mailboxPath, mailbox_entry_path AS mailboxEntryPath";
/** As many places as an archive may have. */
const maxRows = 100_000;

/**
 * From the index.sqlite at `path`, of any version, which it does not change. Throws for a file that is
 * damaged.
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
 * In a restored index.sqlite at `path`: the mailbox outside of its root that lay at `from` lies at `to` now.
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
