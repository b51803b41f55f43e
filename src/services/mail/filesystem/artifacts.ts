import { join } from "node:path";
import type { Catalog, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { standardBoxes } from "../view-state.ts";
import { whyOutside } from "./maintenance.ts";

/**
 * Finishes on disk what a registration began, whoever began it. Doing it twice changes nothing: nobody makes a
 * mailbox under a name for which something is still pending.
 */
export function settleArtifacts(files: Files, root: string, catalog: Catalog): void {
  if (catalog.pending().length === 0) return;
  catalog.settlePending("sql:mail-artifacts", ({ action, path, destination }) => {
    const from = join(root, path);
    if (action === "remove") files.remove("mail.entry-removed", from);
    else if (destination !== null && (files.isLink(from) || files.exists(from))) {
      files.rename("mail.entry-stashed", from, join(root, destination));
    }
  });
}

/** Where a registration's mail lies. Absolute. */
export function mailboxFolder(
  root: string,
  row: Pick<RegistrationRow, "mailboxKind" | "mailboxPath">,
): string {
  return row.mailboxKind === "in_root" ? join(root, row.mailboxPath) : row.mailboxPath;
}

/** Throws `transport_failed` when a folder of the root on the way to `path` has become a symbolic link. */
export function refuseDetour(files: Files, root: string, path: string): void {
  const why = whyOutside(files, root, path);
  if (why === null) return;
  throw new ServiceError(
    "transport_failed",
    `${why} where a folder of the mailbox root belongs; put it back`,
  );
}

/** Makes what is missing of the folders of an active registration. Throws `transport_failed` for a link in its place. */
export function ensureMailbox(files: Files, root: string, row: RegistrationRow): void {
  const folder = mailboxFolder(root, row);
  if (row.mailboxKind === "in_root" && files.isLink(folder)) {
    throw new ServiceError(
      "transport_failed",
      `the folder of ${row.address} has been replaced by a symbolic link`,
    );
  }
  for (const box of standardBoxes) files.ensureDirectory("mail.box-made", join(folder, box));
  const entry = join(root, row.mailboxEntryPath);
  if (row.mailboxKind !== "symlink" || files.isLink(entry)) return;
  try {
    files.symlink("mail.entry-linked", folder, entry);
  } catch (error) {
    // Another process was as quick.
    if (!files.isLink(entry)) throw error;
  }
}
