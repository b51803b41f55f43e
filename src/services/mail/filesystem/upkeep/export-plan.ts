import { basename, dirname, relative } from "node:path";
import type { AttachmentRow } from "../../../../db/mailbox/catalog.ts";
import type { PlacedMessage } from "../../../../db/mailbox/inspect.ts";
import { renderJson } from "../../../../protocol/json.ts";
import type { ExportedArtifact, ExportManifest, SymlinkMode } from "../../../../protocol/mailbox-admin.ts";
import { isOneName } from "../../../../system/contained-path.ts";
import { inbox } from "../../view-state.ts";
import type { Registration } from "../registration/registrations.ts";
import { liesBelow, stateFileName } from "../root-paths.ts";
import type { FileStep, Outcome, PlannedStep, Target } from "./maintenance.ts";

export type ExportStep =
  | FileStep
  | { kind: "snapshot"; from: string; to: Target }
  /** Changes nothing; its artifact is only reported. */
  | { kind: "report" };

type ArtifactList = "copied_artifacts" | "materialized_artifacts" | "skipped_artifacts" | "blocked_artifacts";

/** One step, and what the manifest says when it is done. An artifact whose step fails is blocked. */
interface ExportEntry extends PlannedStep<ExportStep> {
  artifact?: { list: ArtifactList; row: ExportedArtifact };
  account?: ExportManifest["accounts"][number];
  message?: ExportManifest["messages"][number];
  projection?: ExportManifest["projections"][number];
  /** Reported without its copy when the step fails. */
  attachment?: ExportManifest["attachments"][number];
}

interface ExportFacts {
  root: string;
  /** The folder that is filled. */
  archive: string;
  symlinkMode: SymlinkMode;
  accounts: readonly AccountFacts[];
  attachmentsOf(messageId: string): readonly AttachmentRow[];
}

export interface AccountFacts {
  account: Registration;
  /** Why its mail cannot be read, or null. */
  refused: string | null;
  messages: readonly PlacedMessage[];
  /** By message id. */
  boxes: ReadonlyMap<string, string>;
  hasState: boolean;
}

/** Each message is copied once, with its attachments; each mailbox that holds it shows it in a box. Pure. */
export function planExport(facts: ExportFacts): ExportEntry[] {
  const { root, archive, symlinkMode } = facts;
  const folderLabel = "mail.export-folder";
  const plan: ExportEntry[] = ["messages", "accounts", "attachments/managed"].map((names) => ({
    step: { kind: "make_folder", label: folderLabel, at: { base: archive, names } },
    phase: "exporting",
    tolerates: "nothing",
  }));
  /** The position of the step that copies a message; null for one that is not copied. */
  const copies = new Map<string, number | null>();
  for (const account of facts.accounts) planAccount(account);
  return plan;

  function planAccount({ account, refused, messages, boxes, hasState }: AccountFacts): void {
    const { registration_id, address, status, mailbox_path } = account;
    const phase = `exporting ${address}`;
    const report = (list: ArtifactList, source_path: string, reason: string): ExportEntry => ({
      step: { kind: "report" },
      phase,
      tolerates: "nothing",
      artifact: {
        list,
        row: { artifact_kind: "mailbox_state", source_path, archive_path: null, reason },
      },
    });
    if (refused !== null) {
      plan.push(report("blocked_artifacts", mailbox_path, refused));
      return;
    }
    const folder = `accounts/${address}/${registration_id}`;
    const boxesFolder = { base: archive, names: `${folder}/boxes` };
    plan.push({
      step: { kind: "make_folder", label: folderLabel, at: boxesFolder },
      phase,
      tolerates: "nothing",
      account: { registration_id, address, status, archive_path: folder },
    });
    const accountFile = { base: archive, names: `${folder}/account.json` };
    const text = renderJson(account);
    plan.push({
      step: { kind: "write", label: "mail.export-account", at: accountFile, text, durable: false },
      phase,
      tolerates: "nothing",
    });
    const source_path = `${mailbox_path}/${stateFileName}`;
    if (hasState) plan.push(snapshotEntry(source_path, `${folder}/${stateFileName}`, phase));
    else plan.push(report("skipped_artifacts", source_path, `${address} has none yet`));
    for (const message of messages) {
      const copied = copies.get(message.messageId) ?? planMessage(message, phase);
      copies.set(message.messageId, copied);
      const box = boxOf(boxes.get(message.messageId) ?? message.folder);
      if (copied !== null) plan.push(projectionEntry(account, `${folder}/boxes/${box}`, message, copied));
    }
  }

  function snapshotEntry(source_path: string, archive_path: string, phase: string): ExportEntry {
    const to = { base: archive, names: archive_path };
    return {
      step: { kind: "snapshot", from: source_path, to },
      phase,
      tolerates: "everything",
      artifact: {
        list: "copied_artifacts",
        row: { artifact_kind: "mailbox_state", source_path, archive_path, reason: null },
      },
    };
  }

  function planMessage({ messageId, canonicalPath }: PlacedMessage, phase: string): number | null {
    const source = `${root}/${canonicalPath}`;
    const archive_path = `messages/${basename(dirname(source))}/${messageId}.md`;
    const entry = copyEntry("canonical_message", source, archive_path, phase);
    const isCopied = entry.step.kind === "copy";
    const position = plan.length;
    plan.push(isCopied ? { ...entry, message: { message_id: messageId, archive_path } } : entry);
    if (!isCopied) return null;
    for (const row of facts.attachmentsOf(messageId)) {
      plan.push({ ...attachmentEntry(messageId, row, phase), needs: position });
    }
    return position;
  }

  function attachmentEntry(message_id: string, row: AttachmentRow, phase: string): ExportEntry {
    const { attachmentId: attachment_id, kind, path } = row;
    const attachment = { attachment_id, message_id, kind, archive_path: null };
    if (kind !== "managed_copy") {
      const reason = "its sender's own file is only named";
      const skippedRow = { source_path: path, archive_path: null, reason };
      return {
        step: { kind: "report" },
        phase,
        tolerates: "nothing",
        artifact: { list: "skipped_artifacts", row: { artifact_kind: "path_attachment", ...skippedRow } },
        attachment: { ...attachment, source_path: path },
      };
    }
    const source_path = `${root}/${path}`;
    const archive_path = `attachments/managed/${attachment_id}/${basename(path)}`;
    const entry = copyEntry("managed_attachment", source_path, archive_path, phase);
    const isCopied = entry.step.kind === "copy";
    return {
      ...entry,
      attachment: { ...attachment, source_path, archive_path: isCopied ? archive_path : null },
    };
  }

  /** A report instead of a copy for a file that is not below the folder of its kind. */
  function copyEntry(
    artifact_kind: "canonical_message" | "managed_attachment",
    source_path: string,
    archive_path: string,
    phase: string,
  ): ExportEntry {
    const row = { artifact_kind, source_path, archive_path, reason: null };
    const base = artifact_kind === "canonical_message" ? "messages" : "attachments/managed";
    if (!liesBelow(`${root}/${base}`, source_path)) {
      const reason = "it lies outside of the mailbox root";
      return {
        step: { kind: "report" },
        phase,
        tolerates: "nothing",
        artifact: { list: "blocked_artifacts", row: { ...row, archive_path: null, reason } },
      };
    }
    const from = { base: root, names: relative(root, source_path), expected: "file" } as const;
    const to = { base: archive, names: archive_path };
    return {
      step: { kind: "copy", label: "mail.export-copied", folderLabel, from, to },
      phase,
      tolerates: "refusals",
      artifact: { list: "copied_artifacts", row },
    };
  }

  function projectionEntry(
    { registration_id, mailbox_path, address }: Registration,
    boxFolder: string,
    { messageId, canonicalPath }: PlacedMessage,
    needs: number,
  ): ExportEntry {
    const name = `${messageId}.md`;
    const target = `messages/${basename(dirname(canonicalPath))}/${name}`;
    const archive_path = `${boxFolder}/${name}`;
    const folder = basename(boxFolder);
    const row: ExportedArtifact = {
      artifact_kind: "projection",
      source_path: `${mailbox_path}/${folder}/${name}`,
      archive_path,
      reason: null,
    };
    const at = { base: archive, names: archive_path };
    const from = { base: archive, names: target, expected: "file" } as const;
    const text = relative(`/${boxFolder}`, `/${target}`);
    const isLink = symlinkMode === "preserve";
    return {
      step: isLink
        ? { kind: "link", label: "mail.export-linked", folderLabel, at, text }
        : { kind: "copy", label: "mail.export-copied", folderLabel, from, to: at },
      phase: `exporting ${address}`,
      tolerates: "nothing",
      needs,
      artifact: { list: isLink ? "copied_artifacts" : "materialized_artifacts", row },
      projection: { registration_id, message_id: messageId, folder, archive_path },
    };
  }
}

/** A database may hold any text: a name that cannot be a box becomes the inbox. */
function boxOf(stored: string): string {
  return isOneName(stored) ? stored : inbox;
}

/** The lists of the manifest, as the steps of the plan came out. Pure. */
export function toLists(plan: readonly ExportEntry[], outcomes: readonly Outcome[]) {
  const lists: Pick<ExportManifest, ArtifactList | "accounts" | "messages" | "projections" | "attachments"> =
    {
      accounts: [],
      messages: [],
      projections: [],
      attachments: [],
      copied_artifacts: [],
      materialized_artifacts: [],
      skipped_artifacts: [],
      blocked_artifacts: [],
    };
  for (const [nth, { artifact, account, message, projection, attachment }] of plan.entries()) {
    const outcome = outcomes[nth];
    if (!outcome || outcome.result === "skipped") continue;
    const isDone = outcome.result === "done";
    if (attachment) lists.attachments.push(isDone ? attachment : { ...attachment, archive_path: null });
    if (!isDone) {
      if (artifact) {
        lists.blocked_artifacts.push({ ...artifact.row, archive_path: null, reason: outcome.why });
      }
      continue;
    }
    if (artifact) lists[artifact.list].push(artifact.row);
    if (account) lists.accounts.push(account);
    if (message) lists.messages.push(message);
    if (projection) lists.projections.push(projection);
  }
  return lists;
}
