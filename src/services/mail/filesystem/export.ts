import { basename, dirname, relative } from "node:path";
import { snapshotDatabase } from "../../../db/mailbox/inspect.ts";
import { listCatalog, type PlacedMessage } from "../../../db/mailbox/listing.ts";
import { renderJson } from "../../../protocol/json.ts";
import { mailProtocolVersion } from "../../../protocol/mail-file.ts";
import type {
  ExportedArtifact,
  ExportManifest,
  ExportResult,
  SymlinkMode,
} from "../../../protocol/mailbox-admin.ts";
import { timestampNow } from "../../../system/clock.ts";
import { type ContainedPath, childPath, isOneName, PathRefused } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { parseAddress } from "../address.ts";
import { inbox } from "../view-state.ts";
import { foldersOf, rowOf } from "./accounts.ts";
import { breathe, liesBelow, type Progress } from "./maintenance.ts";
import type { Registration } from "./registrations.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "./root.ts";
import { mailboxFolder, stateFileName } from "./root-paths.ts";

export interface ExportOptions {
  /** Absolute; must not exist. */
  outputDir: string;
  /** Null: all accounts. */
  addresses: readonly string[] | null;
  symlinkMode: SymlinkMode;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

const batch = 200;

/**
 * Copies mailboxes with their mail into a new folder that needs nothing else. It appears under its name when it is
 * complete, or not at all. What lies outside of the root is told and not copied. Throws `invalid_request` for a folder
 * that is there already or that lies in the root, `not_found` for an address without a mailbox. Source:
 * spec/mailbox-agui.md A8.
 */
export async function exportMailRoot(
  deps: MailRootDeps,
  open: MailRoot,
  options: ExportOptions,
): Promise<ExportResult> {
  const { files, ids } = deps;
  const { outputDir } = options;
  if (files.exists(outputDir) || files.isLink(outputDir)) {
    throw new ServiceError("invalid_request", `${outputDir} is there already; name a new folder`);
  }
  const parent = files.realPath(dirname(outputDir));
  if (parent === null) throw new ServiceError("invalid_request", `there is no folder ${dirname(outputDir)}`);
  if (liesBelow(files.realPath(open.root) ?? open.root, childPath(parent, basename(outputDir)))) {
    throw new ServiceError("invalid_request", "an export cannot lie in the mailbox root itself");
  }
  return withExclusiveRoot(deps, open.root, async () => {
    const partial = files.contained(parent, [`.${basename(outputDir)}.${ids.hex(4)}.partial`]);
    const place = files.contained(parent, [basename(outputDir)]);
    try {
      files.ensureDirectory("mail.export-folder", partial);
      const manifest = await fill(deps, open, options, partial);
      files.write("mail.export-manifest", childPath(partial, "manifest.json"), renderJson(manifest));
      files.place("mail.export-placed", partial, place);
      return toResult(manifest, outputDir);
    } catch (error) {
      files.remove("mail.export-dropped", partial);
      throw error;
    }
  });
}

async function fill(
  deps: MailRootDeps,
  open: MailRoot,
  options: ExportOptions,
  archive: string,
): Promise<ExportManifest> {
  const { files, clock } = deps;
  const { root } = open;
  const listing = listCatalog(open.catalog.store);
  const chosen = chooseAccounts(open, options.addresses);
  const manifest: ExportManifest = {
    schema_version: 1,
    source_mailbox_root: root,
    protocol_version: mailProtocolVersion,
    exported_at_utc: timestampNow(clock),
    symlink_mode: options.symlinkMode,
    selection: {
      all_accounts: options.addresses === null,
      addresses: [...new Set(chosen.map((one) => one.address))],
    },
    ...{ accounts: [], messages: [], projections: [], attachments: [] },
    ...{ copied_artifacts: [], materialized_artifacts: [], skipped_artifacts: [], blocked_artifacts: [] },
  };
  for (const folder of ["messages", "accounts", "attachments/managed"]) {
    files.ensureDirectory("mail.export-folder", files.contained(archive, folder));
  }
  const done = new Map<string, boolean>();
  for (const account of chosen) await copyAccount(account);
  return manifest;

  async function copyAccount(account: Registration): Promise<void> {
    const { registration_id, address, status } = account;
    const folder = `accounts/${address}/${registration_id}`;
    const whyNot = whyNoMailbox(account);
    if (whyNot !== null) {
      manifest.blocked_artifacts.push({
        artifact_kind: "mailbox_state",
        source_path: account.mailbox_path,
        archive_path: null,
        reason: whyNot,
      });
      return;
    }
    files.ensureDirectory("mail.export-folder", files.contained(archive, `${folder}/boxes`));
    manifest.accounts.push({ registration_id, address, status, archive_path: folder });
    files.write(
      "mail.export-account",
      files.contained(archive, `${folder}/account.json`),
      renderJson(account),
      {
        durable: false,
      },
    );
    const messages = listing.messagesOf(registration_id);
    const boxes = foldersOf(deps, open, account);
    copyState(account, folder);
    for (const [at, message] of messages.entries()) {
      if (at % batch === 0) {
        await breathe(options, { step: `exporting ${address}`, done: at, total: messages.length });
      }
      const known = done.get(message.messageId) ?? copyMessage(message);
      done.set(message.messageId, known);
      if (known) project(account, folder, message, boxOf(boxes.get(message.messageId) ?? message.folder));
    }
  }

  function whyNoMailbox(account: Registration): string | null {
    const row = rowOf(open.catalog, account);
    try {
      if (row) files.contained(mailboxFolder(files, root, row), [stateFileName], "file");
      return row ? null : "it is no longer registered";
    } catch (error) {
      if (error instanceof ServiceError) return messageOf(error);
      throw error;
    }
  }

  function copyState({ mailbox_path, address }: Registration, folder: string): void {
    const source = `${mailbox_path}/${stateFileName}`;
    const archive_path = `${folder}/${stateFileName}`;
    const artifact: ExportedArtifact = {
      artifact_kind: "mailbox_state",
      source_path: source,
      archive_path,
      reason: null,
    };
    if (!files.exists(source)) {
      manifest.skipped_artifacts.push({ ...artifact, archive_path: null, reason: `${address} has none yet` });
      return;
    }
    try {
      snapshotDatabase(source, files.contained(archive, archive_path));
      manifest.copied_artifacts.push(artifact);
    } catch (error) {
      manifest.blocked_artifacts.push({ ...artifact, archive_path: null, reason: messageOf(error) });
    }
  }

  /** Whether it is in the archive now. */
  function copyMessage(message: PlacedMessage): boolean {
    const source = `${root}/${message.canonicalPath}`;
    const archive_path = `messages/${basename(dirname(source))}/${message.messageId}.md`;
    if (!copy("canonical_message", source, archive_path, "messages")) return false;
    manifest.messages.push({ message_id: message.messageId, archive_path });
    for (const attachment of listing.attachmentsOf(message.messageId)) {
      const { attachmentId, kind, path } = attachment;
      const isManaged = kind === "managed_copy";
      const from = isManaged ? `${root}/${path}` : path;
      const to = isManaged ? `attachments/managed/${attachmentId}/${basename(path)}` : null;
      if (to === null) {
        manifest.skipped_artifacts.push({
          artifact_kind: "path_attachment",
          source_path: from,
          archive_path: null,
          reason: "its sender's own file is only named",
        });
      }
      const copied = to !== null && copy("managed_attachment", from, to, "attachments/managed");
      manifest.attachments.push({
        attachment_id: attachmentId,
        message_id: message.messageId,
        kind,
        source_path: from,
        archive_path: copied ? to : null,
      });
    }
    return true;
  }

  function copy(
    artifact_kind: ExportedArtifact["artifact_kind"],
    source_path: string,
    archive_path: string,
    base: string,
  ): boolean {
    const artifact = { artifact_kind, source_path, archive_path, reason: null };
    const why = copyFile(source_path, archive_path, base);
    if (why === null) manifest.copied_artifacts.push(artifact);
    else manifest.blocked_artifacts.push({ ...artifact, archive_path: null, reason: why });
    return why === null;
  }

  /** Why it could not be copied, or null. */
  function copyFile(source_path: string, archivePath: string, base: string): string | null {
    let source: ContainedPath;
    let to: ContainedPath;
    try {
      if (!liesBelow(`${root}/${base}`, source_path)) return "it lies outside of the mailbox root";
      source = files.contained(root, relative(root, source_path), "file");
      to = files.contained(archive, archivePath);
    } catch (error) {
      if (error instanceof PathRefused) return error.why;
      throw error;
    }
    files.ensureDirectory("mail.export-folder", dirname(to));
    const limits = { maxBytes: Number.MAX_SAFE_INTEGER, anywhere: true, durable: false };
    const result = files.copy("mail.export-copied", source, to, limits);
    if (result.ok) return null;
    return {
      absent: "it is missing",
      unreadable: "it cannot be read",
      not_regular: "it is no regular file",
      too_large: "it is too large",
      of_kernel: "it lies in a file system of the kernel",
      outside: "it lies outside of the mailbox root",
    }[result.why];
  }

  function project(
    { registration_id, mailbox_path }: Registration,
    folder: string,
    message: PlacedMessage,
    box: string,
  ) {
    const name = `${message.messageId}.md`;
    const day = basename(dirname(message.canonicalPath));
    const target = files.contained(archive, ["messages", day, name]);
    const archive_path = `${folder}/boxes/${box}/${name}`;
    const place = files.contained(archive, archive_path);
    files.ensureDirectory("mail.export-folder", dirname(place));
    const artifact: ExportedArtifact = {
      artifact_kind: "projection",
      source_path: `${mailbox_path}/${box}/${name}`,
      archive_path,
      reason: null,
    };
    if (options.symlinkMode === "preserve") {
      files.symlink("mail.export-linked", relative(dirname(place), target), place);
      manifest.copied_artifacts.push(artifact);
    } else {
      files.copy("mail.export-copied", target, place, {
        maxBytes: Number.MAX_SAFE_INTEGER,
        anywhere: true,
        durable: false,
      });
      manifest.materialized_artifacts.push(artifact);
    }
    manifest.projections.push({ registration_id, message_id: message.messageId, folder: box, archive_path });
  }
}

/** Every registration of the addresses, the former too. */
function chooseAccounts({ registrations }: MailRoot, addresses: readonly string[] | null): Registration[] {
  const all = registrations.list();
  if (addresses === null) return all;
  const wanted = new Set(addresses.map(parseAddress));
  for (const address of wanted) {
    if (!all.some((one) => one.address === address)) {
      throw new ServiceError(
        "not_found",
        `no mailbox is or was registered for ${address}; \`svc-mgr mailbox accounts list\` shows all`,
      );
    }
  }
  return all.filter((one) => wanted.has(one.address));
}

/** A database may hold any text; what is no name of a box is shown as the one where mail arrives. */
function boxOf(stored: string): string {
  return isOneName(stored) ? stored : inbox;
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
