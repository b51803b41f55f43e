import type { Catalog, PendingArtifact, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { shown } from "../../address.ts";
import { standardBoxes } from "../../view-state.ts";
import { isEntryPath, mailboxFolder, pathInRoot } from "../root-paths.ts";
import { applyFileStep, type FileStep } from "../upkeep/maintenance.ts";

/**
 * Applies on disk what a registration or a cleanup has committed to the index, whichever process committed
 * it. Safe to repeat: no mailbox is made under a name for which something is still pending. An entry that is
 * not below `mailboxes/` is dropped without effect, and then this throws `transport_failed`, once.
 */
export function settleArtifacts(files: Files, root: string, catalog: Catalog): void {
  if (catalog.pending().length === 0) return;
  const refused: PendingArtifact[] = [];
  catalog.settlePending("sql:mail-artifacts", (artifact) => {
    const { path, destination } = artifact;
    if (!isEntryPath(path) || (destination !== null && !isEntryPath(destination))) {
      refused.push(artifact);
      return;
    }
    const step = toStep(root, artifact);
    if (step) applyFileStep(files, step);
  });
  const [first] = refused;
  if (first === undefined) return;
  throw new ServiceError(
    "transport_failed",
    `the index of this mailbox root asked to ${first.action} ${shown(String(first.path))}, which is no mailbox of it: refused and dropped. Somebody else wrote this index; look at its mail before you try again`,
  );
}

/** Null for a rename to nothing. Pure. */
function toStep(root: string, { action, path, destination }: PendingArtifact): FileStep | null {
  const at = { base: root, names: path };
  if (action === "remove") return { kind: "remove", label: "mail.entry-removed", at };
  if (destination === null) return null;
  const to = { base: root, names: destination };
  return { kind: "rename", label: "mail.entry-stashed", from: at, to };
}

/**
 * Makes what is missing of the folders of an active registration. Throws `transport_failed` for a link in its
 * place.
 */
export function ensureMailbox(files: Files, root: string, row: RegistrationRow): void {
  const folder = mailboxFolder(files, root, row);
  for (const box of standardBoxes) {
    files.ensureDirectory("mail.box-made", pathInRoot(files, folder, [box], "folder"));
  }
  const entry = pathInRoot(files, root, row.mailboxEntryPath);
  if (row.mailboxKind !== "symlink" || files.isLink(entry)) return;
  try {
    files.symlink("mail.entry-linked", folder, entry);
  } catch (error) {
    // Another process was as quick.
    if (!files.isLink(entry)) throw error;
  }
}
