import { basename, dirname } from "node:path";
import { listCatalog, snapshotDatabase } from "../../../../db/mailbox/inspect.ts";
import { renderJson } from "../../../../protocol/json.ts";
import { mailProtocolVersion } from "../../../../protocol/mail-file.ts";
import type { ExportManifest, ExportResult, SymlinkMode } from "../../../../protocol/mailbox-admin.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { timestampNow } from "../../../../system/clock.ts";
import { type ContainedPath, childPath } from "../../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { parseAddress } from "../../address.ts";
import { recoverUnsynced } from "../delivery/late-files.ts";
import { foldersOf, rowOf } from "../registration/accounts.ts";
import type { Registration } from "../registration/registrations.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "../root.ts";
import { liesBelow, mailboxFolder, stateFileName } from "../root-paths.ts";
import { type AccountFacts, type ExportStep, planExport, toLists } from "./export-plan.ts";
import { applyFileStep, applyPlan, breathe, done, type Outcome, type RunOptions } from "./maintenance.ts";

export interface ExportOptions extends RunOptions {
  /** Absolute; must not exist. */
  outputDir: string;
  /** Null: all accounts. */
  addresses: readonly string[] | null;
  symlinkMode: SymlinkMode;
}

/**
 * Copies mailboxes with their mail into a new folder that needs nothing else. The folder appears under its
 * name when it is complete, or not at all. A file outside of the root is reported and not copied. Throws
 * `invalid_request` for a folder that exists or that is inside of the root, `not_found` for an address
 * without a mailbox. Source: spec/mailbox-agui.md A8.
 */
export async function exportMailRoot(
  deps: MailRootDeps,
  open: MailRoot,
  options: ExportOptions,
): Promise<ExportResult> {
  const { files, ids } = deps;
  const { root } = open;
  const { outputDir, addresses, symlinkMode } = options;
  if (files.exists(outputDir) || files.isLink(outputDir)) {
    throw new ServiceError("invalid_request", `${outputDir} is there already; name a new folder`);
  }
  const parent = files.realPath(dirname(outputDir));
  if (parent === null) throw new ServiceError("invalid_request", `there is no folder ${dirname(outputDir)}`);
  if (liesBelow(files.realPath(root) ?? root, childPath(parent, basename(outputDir)))) {
    throw new ServiceError("invalid_request", "an export cannot lie in the mailbox root itself");
  }
  return withExclusiveRoot(deps, root, async () => {
    const archive = files.contained(parent, [`.${basename(outputDir)}.${ids.hex(4)}.partial`]);
    const place = files.contained(parent, [basename(outputDir)]);
    try {
      files.ensureDirectory("mail.export-folder", archive);
      const chosen = chooseAccounts(open, addresses);
      const { attachmentsOf } = listCatalog(open.catalog.store);
      const accounts = await surveyAccounts(deps, open, chosen, options);
      // What these name is written first: a message of just now may wait for its file.
      recoverUnsynced(deps, root, open.catalog);
      const plan = planExport({ root, archive, symlinkMode, accounts, attachmentsOf });
      const apply = (step: ExportStep) => applyExportStep(deps, step);
      const manifest: ExportManifest = {
        schema_version: 1,
        source_mailbox_root: root,
        protocol_version: mailProtocolVersion,
        exported_at_utc: timestampNow(deps.clock),
        symlink_mode: symlinkMode,
        selection: {
          all_accounts: addresses === null,
          addresses: [...new Set(chosen.map((one) => one.address))],
        },
        ...toLists(plan, await applyPlan(plan, apply, options)),
      };
      files.write("mail.export-manifest", childPath(archive, "manifest.json"), renderJson(manifest));
      files.place("mail.export-placed", archive, place);
      return toResult(manifest, outputDir);
    } catch (error) {
      files.remove("mail.export-dropped", archive);
      throw error;
    }
  });
}

async function surveyAccounts(
  deps: MailRootDeps,
  open: MailRoot,
  chosen: readonly Registration[],
  options: RunOptions,
): Promise<AccountFacts[]> {
  const { messagesOf } = listCatalog(open.catalog.store);
  const accounts: AccountFacts[] = [];
  for (const account of chosen) {
    await breathe(options, { step: `reading ${account.address}`, done: 0, total: null });
    const refused = whyNoMailbox(deps, open, account);
    if (refused !== null) {
      accounts.push({ account, refused, messages: [], boxes: new Map(), hasState: false });
      continue;
    }
    const messages = messagesOf(account.registration_id);
    const boxes = foldersOf(deps, open, account);
    const hasState = deps.files.exists(`${account.mailbox_path}/${stateFileName}`);
    accounts.push({ account, refused, messages, boxes, hasState });
  }
  return accounts;
}

function whyNoMailbox({ files }: MailRootDeps, open: MailRoot, account: Registration): string | null {
  const row = rowOf(open.catalog, account);
  try {
    if (row) files.contained(mailboxFolder(files, open.root, row), [stateFileName], "file");
    return row ? null : "it is no longer registered";
  } catch (error) {
    if (error instanceof ServiceError) return messageOf(error);
    throw error;
  }
}

function applyExportStep({ files }: MailRootDeps, step: ExportStep): Outcome {
  if (step.kind === "report") return done;
  if (step.kind !== "snapshot") return applyFileStep(files, step);
  const to: ContainedPath = files.contained(step.to.base, step.to.names);
  snapshotDatabase(step.from, to);
  return done;
}

/**
 * Every registration of the addresses, the former ones too. Throws `not_found` for an address without one.
 */
function chooseAccounts({ registrations }: MailRoot, addresses: readonly string[] | null): Registration[] {
  const all = registrations.list();
  if (addresses === null) return all;
  const wanted = new Set(addresses.map(parseAddress));
  for (const address of wanted) {
    if (!all.some((one) => one.address === address)) {
      throw new ServiceError("not_found", `no mailbox is or was registered for ${address}`, {
        data: { remedy: { code: "list_mailboxes" } satisfies Remedy },
      });
    }
  }
  return all.filter((one) => wanted.has(one.address));
}

function toResult(manifest: ExportManifest, outputDir: string): ExportResult {
  return {
    output_dir: outputDir,
    manifest_path: `${outputDir}/manifest.json`,
    symlink_mode: manifest.symlink_mode,
    selected_addresses: manifest.selection.addresses,
    account_count: manifest.accounts.length,
    message_count: manifest.messages.length,
    attachment_count: manifest.attachments.length,
    copied_artifacts: manifest.copied_artifacts,
    materialized_artifacts: manifest.materialized_artifacts,
    skipped_artifacts: manifest.skipped_artifacts,
    blocked_artifacts: manifest.blocked_artifacts,
  };
}
