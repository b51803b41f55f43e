import { dirname } from "node:path";
import type { AttachmentRow, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import {
  type CatalogRemoval,
  type RemovableMessage,
  removeFromCatalog,
} from "../../../../db/mailbox/rebuild.ts";
import { openMailboxState } from "../../../../db/mailbox/state.ts";
import { upkeepOfState } from "../../../../db/mailbox/state-upkeep.ts";
import type { MaintenanceAction } from "../../../../protocol/mailbox-admin.ts";
import { childPath, isOneName } from "../../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { splitHostAddress } from "../../address.ts";
import { presentRegistration } from "../registration/accounts.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "../root.ts";
import {
  attachmentPlace,
  isMessageId,
  mailboxFolder,
  messageFile,
  rootPaths,
  statedFolder,
  stateFileName,
} from "../root-paths.ts";
import {
  applyFileStep,
  applyPlan,
  done,
  emptyPlan,
  type FileStep,
  type MaintenancePlan,
  type MaintenanceResult,
  type Outcome,
  type PlannedStep,
  type RunOptions,
  skipped,
  type Target,
  toMaintenanceResult,
} from "./maintenance.ts";

interface ClearOptions extends RunOptions {
  /** Null: every mailbox. */
  address: string | null;
  dryRun: boolean;
}

type ClearStep =
  /** One transaction of the index: `gone` from all mailboxes, `forgotten` from the one that is cleared. */
  | { kind: "forget_messages"; gone: readonly Gone[]; forgotten: Forgotten | null }
  | { kind: "prune_mailbox"; row: RegistrationRow }
  /** Skipped when the index knows `messageId` again: a delivery has written the file in the meantime. */
  | { kind: "remove_files"; messageId: string; file: FileStep };

type Gone = Parameters<CatalogRemoval["remove"]>[0][number];

interface Forgotten {
  registrationId: string;
  messageIds: readonly string[];
}

interface ClearPlan extends MaintenancePlan {
  steps: (PlannedStep<ClearStep> & { actions: readonly MaintenanceAction[] })[];
}

interface ClearFacts {
  root: string;
  /** The registration that alone is cleared, or null. */
  only: string | null;
  /** Also those that have a file and no row: left by a crash or by an interrupted clear. */
  messages: readonly RemovableMessage[];
  attachmentsOf(messageId: string): readonly Pick<AttachmentRow, "kind" | "path">[];
  mailboxes: readonly MailboxFacts[];
  /**
   * Why the file of a message, or the folder of a managed attachment, is not one of this root; null when it
   * is.
   */
  whyNotMessage(message: RemovableMessage): string | null;
  whyNotAttachment(path: string): string | null;
}

interface MailboxFacts {
  row: RegistrationRow;
  found: { folder: string; statePath: string; links: number; flags: number } | { refused: string } | null;
}

const batch = 500;

/**
 * Removes the mail of all mailboxes or of one: messages, their places in boxes, flags, managed attachments.
 * Registrations stay, and so does mail that another mailbox holds or that waits for another host. The index
 * forgets first, in one transaction; the next run finishes what was interrupted after it. Source:
 * spec/mailbox-agui.md A8.
 */
export function clearMessages(
  deps: MailRootDeps,
  open: MailRoot,
  options: ClearOptions,
): Promise<MaintenanceResult> {
  const { address, dryRun } = options;
  const scope =
    address === null
      ? ({ kind: "mailbox_messages" } as const)
      : ({ kind: "account_messages", address } as const);
  return withExclusiveRoot(deps, open.root, async () => {
    const removal = removeFromCatalog(open.catalog.store);
    const plan = planClear(surveyClear(deps, open, removal, address));
    if (dryRun) return toMaintenanceResult(scope, plan, null);
    const outcomes = await applyPlan(
      plan.steps,
      (step) => applyClearStep(deps, open, removal, step),
      options,
    );
    const applied: MaintenanceAction[] = [];
    const failed: MaintenanceAction[] = [];
    for (const [nth, { actions }] of plan.steps.entries()) {
      const outcome = outcomes[nth];
      if (outcome?.result === "done") applied.push(...actions);
      if (outcome?.result === "failed") {
        failed.push(...actions.map((action) => ({ ...action, reason: outcome.why })));
      }
    }
    return toMaintenanceResult(scope, plan, { applied, failed });
  });
}

function surveyClear(
  deps: MailRootDeps,
  open: MailRoot,
  removal: CatalogRemoval,
  address: string | null,
): ClearFacts {
  const { files } = deps;
  const { root, catalog } = open;
  const only = address === null ? null : presentRegistration(open, address).registration_id;
  const messages = removal.messages(only);
  const known = new Set(messages.map(({ messageId }) => messageId));
  const kept = messages.filter(isKept).map(({ messageId }) => messageId);
  return {
    root,
    only,
    messages: only === null ? [...messages, ...uncatalogued(files, root, known)] : messages,
    attachmentsOf: (id) => removal.attachmentsOf(id),
    mailboxes: catalog
      .registrations()
      .filter((row) => only === null || row.registrationId === only)
      .map((row) => ({ row, found: surveyMailbox(deps, { root, removal, row, kept }) })),
    whyNotMessage: (message) => whyRefused(() => checkMessage(files, root, message)),
    whyNotAttachment: (path) => whyRefused(() => attachmentPlace(files, root, path)),
  };
}

/** Files of messages that the index does not know. */
function uncatalogued(files: Files, root: string, known: ReadonlySet<string>): RemovableMessage[] {
  const folder = rootPaths(root).messages;
  const days = files
    .list(folder)
    .filter((day) => /^\d{4}-\d\d-\d\d$/.test(day) && !files.isLink(childPath(folder, day)));
  return days.flatMap((day) =>
    files.list(childPath(folder, day)).flatMap((name) => {
      const messageId = name.replace(/\.md$/, "");
      return name.endsWith(".md") && isMessageId(messageId) && !known.has(messageId)
        ? [
            {
              messageId,
              canonicalPath: `messages/${day}/${name}`,
              senderAddress: null,
              shared: false,
              waitsFor: null,
            },
          ]
        : [];
    }),
  );
}

/** A message that nobody else holds, and that another host has not confirmed: it would be lost on its way. */
const isKept = ({ shared, waitsFor }: RemovableMessage) => !shared && waitsFor !== null;

function surveyMailbox(
  deps: MailRootDeps,
  {
    root,
    removal,
    row,
    kept,
  }: { root: string; removal: CatalogRemoval; row: RegistrationRow; kept: readonly string[] },
): MailboxFacts["found"] {
  const { files } = deps;
  try {
    const folder = mailboxFolder(files, root, row);
    const statePath = files.contained(folder, [stateFileName], "file");
    if (!files.stat(folder)?.directory) return null;
    const held = removal.boxes(row.registrationId).reduce((sum, box) => sum + box.count, 0);
    const links = held - kept.filter((id) => removal.holds(row.registrationId, id)).length;
    return { folder, statePath, links, flags: flagCount(deps, statePath, kept) };
  } catch (error) {
    if (error instanceof ServiceError) return { refused: messageOf(error) };
    throw error;
  }
}

/** Pure, but for what the functions of `facts` read. */
function planClear(facts: ClearFacts): ClearPlan {
  const { root, only } = facts;
  const plan: ClearPlan = { ...emptyPlan(), steps: [] };
  const gone: Gone[] = [];
  const forgotten: string[] = [];
  const files: ClearPlan["steps"] = [];
  const mailboxes: ClearPlan["steps"] = [];
  for (const message of facts.messages) planMessage(message);
  for (const mailbox of facts.mailboxes) planMailbox(mailbox);
  const forget: ClearStep = {
    kind: "forget_messages",
    gone,
    forgotten: only === null ? null : { registrationId: only, messageIds: forgotten },
  };
  plan.steps.push({ step: forget, phase: "changing the index", tolerates: "nothing", actions: [] });
  plan.steps.push(...mailboxes, ...files);
  return plan;

  function planFiles(messageId: string, at: Target, label: string, action: MaintenanceAction): void {
    plan.planned.push(action);
    files.push({
      step: { kind: "remove_files", messageId, file: { kind: "remove", label, at } },
      phase: "removing files",
      tolerates: "everything",
      actions: [action],
    });
  }

  function planMessage(message: RemovableMessage): void {
    const { messageId, canonicalPath, senderAddress, shared, waitsFor } = message;
    const action = (proposed_action: "remove" | "preserve", reason: string): MaintenanceAction => ({
      artifact_kind: "canonical_message",
      path: `${root}/${canonicalPath}`,
      proposed_action,
      reason,
      details: { message_id: messageId },
    });
    if (shared) {
      forgotten.push(messageId);
      plan.preserved.push(action("preserve", "another mailbox holds it too"));
      return;
    }
    if (isKept(message)) {
      plan.preserved.push(action("preserve", `it waits for host ${waitsFor}`));
      return;
    }
    const refused = facts.whyNotMessage(message);
    if (refused !== null) {
      plan.blocked.push(action("remove", refused));
      return;
    }
    const isForeign = senderAddress !== null && splitHostAddress(senderAddress) !== null;
    gone.push({ messageId, foreign: isForeign ? senderAddress : null });
    const at = { base: root, names: canonicalPath, expected: "file" } as const;
    planFiles(messageId, at, "mail.cleared", action("remove", "its mailboxes are cleared"));
    for (const { kind, path } of facts.attachmentsOf(messageId)) planAttachment(messageId, kind, path);
  }

  function planAttachment(messageId: string, kind: AttachmentRow["kind"], stored: string): void {
    const base = { artifact_kind: "managed_attachment" as const, details: { message_id: messageId } };
    if (kind === "path_ref") {
      const reason = "its sender's own file";
      plan.preserved.push({ ...base, path: stored, proposed_action: "preserve", reason });
      return;
    }
    const remove = { ...base, path: dirname(`${root}/${stored}`), proposed_action: "remove" as const };
    const refused = facts.whyNotAttachment(stored);
    if (refused !== null) {
      plan.blocked.push({ ...remove, reason: refused });
      return;
    }
    const at = { base: root, names: stored.split("/").slice(0, -1), expected: "folder" } as const;
    planFiles(messageId, at, "mail.cleared", { ...remove, reason: "its message is removed" });
  }

  function planMailbox({ row, found }: MailboxFacts): void {
    const { registrationId: registration_id, address } = row;
    const details = { registration_id, address };
    plan.preserved.push({
      artifact_kind: "registration",
      path: rootPaths(root).index,
      proposed_action: "preserve",
      reason: "only mail is cleared",
      details,
    });
    if (found === null) return;
    if ("refused" in found) {
      const path = statedFolder(root, row);
      const action = { artifact_kind: "mailbox_state" as const, path, proposed_action: "remove" as const };
      plan.blocked.push({ ...action, reason: found.refused, details });
      return;
    }
    const { folder, statePath, links, flags } = found;
    const remove = (
      artifact_kind: "projection" | "mailbox_state",
      path: string,
      reason: string,
      count: number,
    ): MaintenanceAction[] =>
      count === 0
        ? []
        : [{ artifact_kind, path, proposed_action: "remove", reason, details: { ...details, count } }];
    const actions = [
      ...remove("projection", folder, `links to ${links} messages`, links),
      ...remove("mailbox_state", statePath, `flags of ${flags} messages`, flags),
    ];
    plan.planned.push(...actions);
    const step: ClearStep = { kind: "prune_mailbox", row };
    mailboxes.push({ step, phase: `clearing ${address}`, tolerates: "everything", actions });
  }
}

function applyClearStep(
  deps: MailRootDeps,
  { root, catalog }: MailRoot,
  removal: CatalogRemoval,
  step: ClearStep,
): Outcome {
  switch (step.kind) {
    case "forget_messages":
      removal.remove(step.gone, step.forgotten);
      return done;
    case "prune_mailbox":
      pruneMailbox(deps, root, removal, step.row);
      return done;
    case "remove_files":
      return catalog.knows(step.messageId) ? skipped : applyFileStep(deps.files, step.file);
  }
}

/** Why `check` refused, or null. Throws every other failure. */
function whyRefused(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return messageOf(error);
    throw error;
  }
}

/** Throws `transport_failed` when the index names another file for a message than its own. */
function checkMessage(files: Files, root: string, { messageId, canonicalPath }: RemovableMessage): void {
  const day = canonicalPath.split("/")[1] ?? "";
  const path = messageFile(files, root, { messageId, createdAtUtc: `${day}T` });
  if (path === `${root}/${canonicalPath}`) return;
  throw new ServiceError("transport_failed", "the index names another file for it than its own");
}

/** How many messages a state knows, without those that are `kept`. */
function flagCount({ files, clock, steps }: MailRootDeps, path: string, kept: readonly string[]): number {
  if (!files.exists(path)) return 0;
  const state = openMailboxState({ path, clock, steps });
  try {
    return upkeepOfState(state.store).count() - kept.filter((id) => state.get(id) !== null).length;
  } finally {
    state.close();
  }
}

/** Removes from the state, and from the boxes, the messages that the index no longer gives this mailbox. */
function pruneMailbox(
  { files, clock, steps }: MailRootDeps,
  root: string,
  removal: CatalogRemoval,
  row: RegistrationRow,
): void {
  const folder = mailboxFolder(files, root, row);
  const path = files.contained(folder, [stateFileName], "file");
  if (files.exists(path)) {
    const state = openMailboxState({ path, clock, steps });
    try {
      const upkeep = upkeepOfState(state.store);
      const isSurplus = ({ messageId }: { messageId: string }) =>
        !removal.holds(row.registrationId, messageId);
      for (let seq: number | null = 0; seq !== null; ) {
        seq = upkeep.removeSurplus({ seq, limit: batch }, isSurplus);
      }
    } finally {
      state.close();
    }
  }
  for (const box of files.list(folder).filter(isOneName)) {
    if (files.isLink(childPath(folder, box))) continue;
    for (const name of files.list(childPath(folder, box))) {
      const id = name.replace(/\.md$/, "");
      if (!isMessageId(id) || removal.holds(row.registrationId, id)) continue;
      if (!files.isLink(childPath(folder, box, name))) continue;
      const at = { base: folder, names: [box, name] };
      applyFileStep(files, { kind: "remove", label: "mail.link-removed", at });
    }
  }
}
