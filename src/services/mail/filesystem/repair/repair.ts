import { type Catalog, openCatalog, type RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import type { RepairResult } from "../../../../protocol/mailbox-admin.ts";
import { type Remedy, remedyOf } from "../../../../protocol/remedy.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { idStamp } from "../../../../system/ids.ts";
import { visibleLine } from "../../../../system/visible.ts";
import { operator, shown } from "../../address.ts";
import { ensureMailbox, settleArtifacts } from "../delivery/artifacts.ts";
import { restoreHistories } from "../delivery/history.ts";
import { parseMessageFile } from "../delivery/message-file.ts";
import { ensureKey, publishExisting } from "../registration/mailbox-keys.ts";
import { initMailRoot, type MailRootDeps, mailRootStatus, withExclusiveRoot } from "../root.ts";
import { isUsable, pathInRoot, readMessageFile, rootPaths } from "../root-paths.ts";
import { mendDatabase } from "./mended-database.ts";
import {
  indexMessages,
  inspectIndex,
  openIndex,
  salvageUnsynced,
  type WorkingIndex,
} from "./repair-index.ts";
import { repairMailbox } from "./repair-mailbox.ts";
import {
  clearStaging,
  listOrphanAttachments,
  listStaging,
  quarantineOrphans,
  type RepairOptions,
  type RepairRun,
  startRun,
  waitUntilStill,
} from "./repair-run.ts";
import { findUnregistered, listMailboxes, type SurveyedMailbox, surveyMailbox } from "./repair-survey.ts";

export type { RepairOptions } from "./repair-run.ts";

/**
 * Puts a root in order again from what is on disk: the index from the messages, the mailboxes from the index
 * and from themselves. Nothing that can be read is lost: not a message, not a flag, not the box it lies in.
 * What cannot be read is reported and kept. Mail goes on meanwhile, and a repair that is ended early leaves a
 * root that is right as far as it goes. Throws `precondition_failed` where there is no root of this version.
 * Source: spec/mailbox-agui.md A8, E 1, 2.
 */
export function repairMailRoot(
  deps: MailRootDeps,
  root: string,
  options: RepairOptions,
): Promise<RepairResult> {
  const { files } = deps;
  const paths = rootPaths(root);
  const status = mailRootStatus(deps, root);
  // The file that names the version is mended as well, where the rest is that of a root.
  const isRoot = status.protocol_version !== null || files.exists(paths.messages);
  if (!isRoot) {
    throw new ServiceError("precondition_failed", `there is no mailbox root at ${visibleLine(root)}`, {
      data: { remedy: { code: "init_mailboxes" } satisfies Remedy },
    });
  }
  if (status.protocol_version !== null && !status.supported) {
    throw new ServiceError("precondition_failed", status.error ?? "the mailbox root is not usable");
  }
  for (const folder of ["locks", "staging/quarantine", "messages", "mailboxes", "attachments"]) {
    files.ensureDirectory("mail.root-folder", pathInRoot(files, root, folder, "folder"));
  }
  return withExclusiveRoot(deps, root, () => {
    const stamp = `${idStamp(deps.clock.nowMs())}-${deps.ids.hex(3)}`;
    return repair(startRun(deps, root, options, stamp));
  });
}

async function repair(run: RepairRun): Promise<RepairResult> {
  const { deps, options, paths } = run;
  const { root } = paths;
  const staged = options.cleanupStaging ? listStaging(run) : [];
  const file = inspectIndex(run);
  const isSound = file.state.kind === "sound";
  const open = (path: string) => openCatalog({ ...deps, path, create: !isSound });
  const { result: found, keptAt: backup } = await mendDatabase(run, { file, open }, (catalog) => {
    const index = openIndex(run, file, catalog);
    dropForeign(run, index);
    return rebuildIndex(run, index);
  });
  // The new one lacks mail that came meanwhile: the next repair finds that by its file and its links.
  if (backup !== null) salvageUnsynced(run, backup);
  initMailRoot(deps, root);
  const catalog = openCatalog({ ...deps, path: paths.index });
  try {
    const states = { restored: 0, defaulted: 0 };
    for (const { registration } of found.mailboxes) {
      if (registration.status === "active") ensureMailbox(deps.files, root, registration);
      mendKey(run, catalog, registration);
    }
    if (!isSound) restoreHistories(catalog, (stray) => readStray(run, stray));
    for (const mailbox of found.mailboxes) {
      const one = await repairMailbox(run, catalog, mailbox);
      states.restored += one.restored;
      states.defaulted += one.defaulted;
    }
    if (options.cleanupStaging) await waitUntilStill(run, staged);
    const cleared = options.cleanupStaging ? clearStaging(run, staged) : [];
    return {
      ok: true,
      message_count: found.counts.messages,
      projection_count: found.counts.projections,
      registration_count: catalog.registrations().length,
      restored_state_count: states.restored,
      defaulted_state_count: states.defaulted,
      staging_action: options.quarantineStaging ? "quarantine" : "remove",
      staging_artifact_count: cleared.length,
      staging_artifact_paths: cleared.map((path) => path.slice(root.length + 1)),
      backed_up_index_path: backup,
      index_rebuilt: isSound ? "in_place" : "fresh",
      restored_registration_count: found.restored.length,
      findings: run.findings,
    };
  } finally {
    catalog.close();
  }
}

/** A mailbox from before keys gets one; a mailbox without a usable one sends unsigned until it does. */
function mendKey(run: RepairRun, catalog: Catalog, registration: RegistrationRow): void {
  const { deps, paths } = run;
  try {
    if (registration.status === "active") ensureKey(deps, paths.root, catalog, registration);
    else publishExisting(deps, paths.root, catalog, registration);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    run.find(`${paths.root}/${registration.mailboxEntryPath}`, `it has no key: ${messageOf(error)}`, {
      remedy: remedyOf(error),
    });
  }
}

function readStray({ deps, paths }: RepairRun, stray: { messageId: string; createdAtUtc: string }) {
  const text = readMessageFile(deps.files, paths.root, stray);
  const parsed = text === null ? null : parseMessageFile(text);
  return parsed?.ok ? parsed.message : null;
}

/**
 * What somebody else wrote into the index goes: orders that reach beyond the root, and rows of registrations.
 */
function dropForeign(run: RepairRun, { catalog }: WorkingIndex): void {
  const { deps, paths } = run;
  try {
    settleArtifacts(deps.files, paths.root, catalog);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    run.find(paths.index, messageOf(error), { remedy: remedyOf(error) });
  }
  const foreign = catalog.registrations().filter((row) => !isUsable(row));
  if (foreign.length === 0) return;
  catalog.changeRegistrations("sql:mail-foreign-dropped", () => ({
    change: { save: [], forget: [], artifacts: [], remove: foreign.map((row) => row.registrationId) },
    result: null,
  }));
  for (const { address } of foreign) {
    run.find(
      paths.index,
      `the registration of ${shown(address)} named a path that is not its own; it was removed`,
    );
  }
}

async function rebuildIndex(run: RepairRun, index: WorkingIndex) {
  const { rebuild, catalog } = index;
  const restored = findUnregistered(run, catalog.registrations());
  const registrations = [...catalog.registrations(), ...restored];
  const mailboxes: SurveyedMailbox[] = [];
  const newest = new Map<string, string>();
  for (const one of listMailboxes(run, registrations)) {
    const { newestKnown, ...mailbox } = await surveyMailbox(run, rebuild, one);
    mailboxes.push(mailbox);
    if (newestKnown !== undefined) newest.set(one.registration.registrationId, newestKnown);
  }
  const { orphans } = await indexMessages(run, index, registrations, newest);
  for (const row of restored) nameOwner(run, index, row);
  rebuild.saveRegistrations(restored);
  const attachments = listOrphanAttachments(run, rebuild);
  if (run.options.cleanupStaging) {
    await waitUntilStill(run, [...orphans.map((one) => one.path), ...attachments]);
    quarantineOrphans(run, rebuild, { messages: orphans, attachments });
  } else {
    for (const { path } of orphans) run.find(path, "it was never delivered");
    for (const path of attachments) run.find(path, "it belongs to no message");
  }
  return { mailboxes, restored, counts: rebuild.counts() };
}

/** A mailbox whose registration is lost belongs to whom its newest mail names. */
function nameOwner(run: RepairRun, { rebuild }: WorkingIndex, row: RegistrationRow): void {
  const path = `${run.paths.root}/${row.mailboxEntryPath}`;
  const named = row.address === operator.address ? operator.principalId : rebuild.ownerBySender(row.address);
  row.ownerPrincipalId = named ?? `SVC-${row.address.slice(0, row.address.indexOf("@"))}`;
  const how = named === null ? "no mail names its owner, taken to be" : "its mail names its owner,";
  run.find(path, `its registration was lost and rebuilt; ${how} ${row.ownerPrincipalId}`);
}
