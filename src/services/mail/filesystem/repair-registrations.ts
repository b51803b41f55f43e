import { basename } from "node:path";
import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { childPath } from "../../../system/contained-path.ts";
import type { Files } from "../../../system/files.ts";
import { operator, parseAddress } from "../address.ts";
import { storedTime } from "../list-plan.ts";
import { standardBoxes } from "../view-state.ts";
import type { RepairRun } from "./repair-run.ts";
import { entryPath, registrationIn, stateFileName } from "./root-paths.ts";

/**
 * Registrations for mailboxes that lie under `mailboxes/` and that nobody is registered for, because the index that
 * knew them is lost. `ownerPrincipalId` is empty: only the mail names the owner. A stashed mailbox stays stashed.
 */
export function findUnregistered(run: RepairRun, known: readonly RegistrationRow[]): RegistrationRow[] {
  const { deps, paths } = run;
  const { files } = deps;
  const entries = new Set(known.map((row) => basename(row.mailboxEntryPath)));
  return files.list(paths.mailboxes).flatMap((name) => {
    if (entries.has(name)) return [];
    const path = `${paths.mailboxes}/${name}`;
    const parts = toAddress(name);
    if (!parts || !isMailbox(files, path)) {
      run.find(path, "it is no mailbox");
      return [];
    }
    if (!files.isLink(path)) return [toRow(run, path, parts, null)];
    const folder = files.realPath(path);
    const registrationId = folder === null ? null : registrationIn(deps, folder);
    if (folder === null || registrationId === null) {
      run.find(path, "it leads to a folder that this user did not register; svc-mgr mailbox register does");
      return [];
    }
    return [toRow(run, path, parts, { folder, registrationId })];
  });
}

function toAddress(name: string): { address: string; mark: string | null } | null {
  const stashed = /^(.+)--([0-9a-f]{32})$/.exec(name);
  try {
    const address = parseAddress(stashed?.[1] ?? name);
    return { address, mark: stashed?.[2] ?? null };
  } catch {
    return null;
  }
}

function isMailbox(files: Files, path: string): boolean {
  return [stateFileName, ...standardBoxes].some((name) => files.exists(childPath(path, name)));
}

function toRow(
  { deps }: RepairRun,
  path: string,
  { address, mark }: { address: string; mark: string | null },
  linked: { folder: string; registrationId: string } | null,
): RegistrationRow {
  const { clock, ids } = deps;
  const entry = entryPath(basename(path));
  const now = storedTime(clock.nowMs());
  const isOperator = address === operator.address;
  return {
    registrationId: linked?.registrationId ?? `reg-${ids.hex(16)}`,
    address,
    ownerPrincipalId: isOperator ? operator.principalId : "",
    status: mark === null ? "active" : "stashed",
    mailboxKind: linked ? "symlink" : "in_root",
    mailboxPath: linked?.folder ?? entry,
    mailboxEntryPath: entry,
    displayName: null,
    manifestPathHint: null,
    role: isOperator ? operator.role : null,
    createdAtUtc: now,
    deactivatedAtUtc: mark === null ? null : now,
    replacedByRegistrationId: null,
  };
}

/** A row as a broken index still gives it, or null when it is not whole. Pure. */
export function toSavedRegistration(row: Record<string, unknown>): RegistrationRow | null {
  const text = (key: string) => (typeof row[key] === "string" ? row[key] : null);
  const [registrationId, address, ownerPrincipalId] = [
    "registration_id",
    "address",
    "owner_principal_id",
  ].map(text);
  const [mailboxPath, mailboxEntryPath, createdAtUtc] = [
    "mailbox_path",
    "mailbox_entry_path",
    "created_at_utc",
  ].map(text);
  const status = (["active", "inactive", "stashed"] as const).find((one) => one === row["status"]);
  const kind = (["in_root", "symlink"] as const).find((one) => one === row["mailbox_kind"]);
  if (!registrationId || !address || !ownerPrincipalId || !status || !kind) return null;
  if (!mailboxPath || !mailboxEntryPath || !createdAtUtc) return null;
  return {
    registrationId,
    address,
    ownerPrincipalId,
    status,
    mailboxKind: kind,
    mailboxPath,
    mailboxEntryPath,
    displayName: text("display_name"),
    manifestPathHint: text("manifest_path_hint"),
    role: text("role"),
    createdAtUtc,
    deactivatedAtUtc: text("deactivated_at_utc"),
    replacedByRegistrationId: text("replaced_by_registration_id"),
  };
}
