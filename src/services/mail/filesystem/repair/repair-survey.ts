import { basename } from "node:path";
import type { RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { inspectDatabase } from "../../../../db/mailbox/inspect.ts";
import type { CatalogRebuild, Evidence } from "../../../../db/mailbox/rebuild.ts";
import { stateMigrations } from "../../../../db/mailbox/state/migrations.ts";
import { openMailboxState } from "../../../../db/mailbox/state.ts";
import { upkeepOfState } from "../../../../db/mailbox/state-upkeep.ts";
import { type Remedy, remedyOf } from "../../../../protocol/remedy.ts";
import { childPath, isOneName } from "../../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { operator, parseAddress } from "../../address.ts";
import { standardBoxes, storedTime } from "../../view-state.ts";
import { entryPath, isMessageId, mailboxFolder, registrationIn, stateFileName } from "../root-paths.ts";
import type { DatabaseState } from "./mended-database.ts";
import type { RepairRun } from "./repair-run.ts";

const page = 500;

/** One mailbox that exists, under the registration that it belongs to. */
export interface SurveyedMailbox {
  registration: RegistrationRow;
  folder: string;
  /** Boxes in which a link to each message lies. */
  links: Map<string, string[]>;
  state: DatabaseState;
}

/**
 * The mailboxes that are on disk, one for each folder: where several registrations name it, the active one
 * has it, else the newest. `registrations`: by address, then newest first.
 */
export function listMailboxes(run: RepairRun, registrations: readonly RegistrationRow[]) {
  const { deps } = run;
  const owners = new Map<string, RegistrationRow>();
  for (const row of registrations) {
    const folder = folderOf(run, row);
    if (folder === null) continue;
    const taken = owners.get(folder);
    const wins = !taken || (taken.status !== "active" && row.status === "active");
    if (wins && deps.files.stat(folder)?.directory) owners.set(folder, row);
  }
  return [...owners].map(([folder, registration]) => ({ folder, registration }));
}

/** Null for a mailbox that this user did not register, or that is reached through a link. */
function folderOf(run: RepairRun, row: RegistrationRow): string | null {
  try {
    return mailboxFolder(run.deps.files, run.paths.root, row);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    run.find(`${run.paths.root}/${row.mailboxEntryPath}`, messageOf(error), { remedy: remedyOf(error) });
    return null;
  }
}

/**
 * What a mailbox says of its messages: its links and its state. What the catalog does not know is noted as
 * evidence. `newestKnown`: up to when it knows its mail; absent where it knows none.
 */
export async function surveyMailbox(
  run: RepairRun,
  rebuild: CatalogRebuild,
  { folder, registration }: { folder: string; registration: RegistrationRow },
): Promise<SurveyedMailbox & { newestKnown: string | undefined }> {
  const { registrationId, address } = registration;
  const { deps } = run;
  const statePath = childPath(folder, stateFileName);
  const state: DatabaseState =
    deps.files.isLink(statePath) || deps.files.exists(statePath)
      ? inspectDatabase(statePath, stateMigrations)
      : { kind: "absent" };
  let newestKnown: string | undefined;
  const note = (rows: readonly { messageId: string; createdAtUtc: string; folder: string }[]) => {
    const unknown: Evidence[] = [];
    for (const row of rows) {
      if (newestKnown === undefined || row.createdAtUtc > newestKnown) newestKnown = row.createdAtUtc;
      if (!rebuild.knows(row.messageId)) unknown.push({ ...row, registrationId });
    }
    if (unknown.length > 0) rebuild.noteEvidence(unknown);
  };
  if (state.kind === "sound") {
    const open = openMailboxState({ path: statePath, clock: deps.clock, steps: deps.steps });
    try {
      const upkeep = upkeepOfState(open.store);
      // A clear took what was seen last: older mail that others hold is not new here. What came since has its
      // link.
      if (upkeep.newestRemoved()) newestKnown = storedTime(deps.clock.nowMs());
      let done = 0;
      for (let rows = upkeep.rowsAfter(0, page); rows.length > 0; ) {
        note(rows.map((row) => ({ ...row, folder: row.boxName })));
        done += rows.length;
        await run.breathe({ step: `looking at ${address}`, done, total: null });
        rows = upkeep.rowsAfter(rows.at(-1)?.seq ?? 0, page);
      }
    } finally {
      open.close();
    }
  }
  const links = new Map<string, string[]>();
  for (const box of boxesOf(run, folder)) {
    const names = deps.files.list(childPath(folder, box));
    for (let at = 0; at < names.length; at += page) {
      const found = names.slice(at, at + page).flatMap((name) => linkedId(run, folder, box, name) ?? []);
      for (const id of found) links.set(id, [...(links.get(id) ?? []), box]);
      note(found.map((messageId) => ({ messageId, createdAtUtc: timeIn(messageId), folder: box })));
      await run.breathe({ step: `looking at ${address} ${box}`, done: at, total: names.length });
    }
  }
  return { registration, folder, links, state, newestKnown };
}

/** Folders of a mailbox; a link to a folder is none of ours. */
function boxesOf(run: RepairRun, folder: string): string[] {
  const { files } = run.deps;
  return files.list(folder).filter((name) => {
    if (!isOneName(name)) return false;
    const path = childPath(folder, name);
    if (files.isLink(path)) {
      run.find(path, "it is a symbolic link where a box should be");
      return false;
    }
    return files.stat(path)?.directory ?? false;
  });
}

function linkedId(run: RepairRun, folder: string, box: string, name: string): string | null {
  const id = name.replace(/\.md$/, "");
  const path = `${folder}/${box}/${name}`;
  if (name.endsWith(".md") && isMessageId(id) && run.deps.files.isLink(path)) return id;
  if (!name.startsWith(".")) run.find(path, "it is not a link to a message");
  return null;
}

/** The end of the second in which a message was made, as times are stored. */
function timeIn(messageId: string): string {
  const match = /^msg-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(messageId);
  const [, year, month, day, hour, minute, second] = match ?? [];
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.999Z`;
}

/**
 * Registrations for mailboxes that lie under `mailboxes/` and that nobody is registered for, because the
 * index that knew them is lost. `ownerPrincipalId` is empty: only the mail names the owner. A stashed mailbox
 * stays stashed.
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
      const remedy: Remedy = { code: "register_folder" };
      run.find(path, "it leads to a folder that this user did not register", { remedy });
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
