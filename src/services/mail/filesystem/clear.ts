import { dirname } from "node:path";
import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import {
  type CatalogRemoval,
  type RemovableMessage,
  removeFromCatalog,
} from "../../../db/mailbox/removal.ts";
import { openMailboxState } from "../../../db/mailbox/state.ts";
import { upkeepOfState } from "../../../db/mailbox/state-upkeep.ts";
import type { MaintenanceAction } from "../../../protocol/mailbox-admin.ts";
import { type ContainedPath, childPath, isOneName } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { presentRegistration } from "./accounts.ts";
import {
  breathe,
  emptyPlan,
  type MaintenancePlan,
  type MaintenanceResult,
  type Progress,
  toMaintenanceResult,
} from "./maintenance.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "./root.ts";
import {
  attachmentPlace,
  isMessageId,
  mailboxFolder,
  messageFile,
  rootPaths,
  statedFolder,
  stateFileName,
} from "./root-paths.ts";

export interface ClearOptions {
  /** Null: every mailbox. */
  address: string | null;
  dryRun: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

interface ClearPlan extends MaintenancePlan {
  /** Messages that go altogether. */
  gone: string[];
  /** Messages that only this mailbox gives up. */
  forgotten: string[];
  /** Files and folders to remove, in the order of `planned`. */
  artifacts: { action: MaintenanceAction; path: ContainedPath }[];
  /** The registration that alone is cleared, or null. */
  only: string | null;
  /** Mailboxes that give up mail. */
  mailboxes: { row: RegistrationRow; actions: MaintenanceAction[] }[];
}

const batch = 500;

/**
 * Removes the mail of all mailboxes or of one: messages, their places in boxes, flags, managed attachments. Who is
 * registered stays so, and so does what another mailbox still holds. The index forgets first, in one transaction;
 * what is interrupted behind it is finished by the next run. Source: spec/mailbox-agui.md A8.
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
    const plan = planClear(deps, open, removal, address);
    if (dryRun) return toMaintenanceResult(scope, plan, null);
    return toMaintenanceResult(scope, plan, await apply(deps, open, removal, plan, options));
  });
}

function planClear(
  deps: MailRootDeps,
  open: MailRoot,
  removal: CatalogRemoval,
  address: string | null,
): ClearPlan {
  const { files } = deps;
  const { root, catalog } = open;
  const one = address === null ? null : presentRegistration(open, address).registration_id;
  const plan: ClearPlan = {
    ...emptyPlan(),
    ...{ gone: [], forgotten: [], artifacts: [], mailboxes: [], only: one },
  };
  const rows = catalog.registrations().filter((row) => one === null || row.registrationId === one);
  const messages = removal.messages(one);
  for (const message of messages) planMessage(message);
  if (one === null) planUncatalogued(new Set(messages.map((message) => message.messageId)));
  for (const row of rows) planMailbox(row);
  return plan;

  function planMessage(message: RemovableMessage): void {
    const path = `${root}/${message.canonicalPath}`;
    const details = { message_id: message.messageId };
    const action = (proposed_action: "remove" | "preserve", reason: string): MaintenanceAction => ({
      artifact_kind: "canonical_message",
      path,
      proposed_action,
      reason,
      details,
    });
    if (message.shared) {
      plan.forgotten.push(message.messageId);
      plan.preserved.push(action("preserve", "another mailbox holds it too"));
      return;
    }
    const file = refusable(() => storedMessage(files, root, message));
    if ("refused" in file) {
      plan.blocked.push(action("remove", file.refused));
      return;
    }
    const clearing = action("remove", "its mailboxes are cleared");
    plan.gone.push(message.messageId);
    plan.planned.push(clearing);
    plan.artifacts.push({ action: clearing, path: file.made });
    for (const attachment of removal.attachmentsOf(message.messageId)) {
      planAttachment(attachment.kind, attachment.path, details);
    }
  }

  function planAttachment(kind: "path_ref" | "managed_copy", stored: string, details: object): void {
    const path = kind === "path_ref" ? stored : dirname(`${root}/${stored}`);
    const base = { artifact_kind: "managed_attachment" as const, path, details: { ...details } };
    if (kind === "path_ref") {
      plan.preserved.push({ ...base, proposed_action: "preserve", reason: "its sender's own file" });
      return;
    }
    const folder = refusable(() => attachmentPlace(files, root, stored).folder);
    const remove = { ...base, proposed_action: "remove" as const };
    if ("refused" in folder) plan.blocked.push({ ...remove, reason: folder.refused });
    else {
      const action = { ...remove, reason: "its message goes" };
      plan.planned.push(action);
      plan.artifacts.push({ action, path: folder.made });
    }
  }

  /** Files of messages that the index does not know: left by a crash, or by a clear that was interrupted. */
  function planUncatalogued(known: ReadonlySet<string>): void {
    const folder = rootPaths(root).messages;
    for (const day of files.list(folder)) {
      if (!/^\d{4}-\d\d-\d\d$/.test(day) || files.isLink(childPath(folder, day))) continue;
      for (const name of files.list(childPath(folder, day))) {
        const id = name.replace(/\.md$/, "");
        if (name.endsWith(".md") && isMessageId(id) && !known.has(id)) {
          planMessage({ messageId: id, canonicalPath: `messages/${day}/${name}`, shared: false });
        }
      }
    }
  }

  function planMailbox(row: RegistrationRow): void {
    const { registrationId: registration_id } = row;
    const details = { registration_id, address: row.address };
    plan.preserved.push({
      artifact_kind: "registration",
      path: rootPaths(root).index,
      proposed_action: "preserve",
      reason: "only mail is cleared",
      details,
    });
    const place = refusable(() => {
      const folder = mailboxFolder(files, root, row);
      return { folder, state: files.contained(folder, [stateFileName], "file") };
    });
    if ("refused" in place) {
      const path = statedFolder(root, row);
      const action = { artifact_kind: "mailbox_state" as const, path, proposed_action: "remove" as const };
      plan.blocked.push({ ...action, reason: place.refused, details });
      return;
    }
    const { folder, state } = place.made;
    if (!files.stat(folder)?.directory) return;
    const links = removal.boxes(registration_id).reduce((sum, box) => sum + box.count, 0);
    const flags = flagCount(deps, state);
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
      ...remove("mailbox_state", state, `flags of ${flags} messages`, flags),
    ];
    plan.planned.push(...actions);
    plan.mailboxes.push({ row, actions });
  }
}

async function apply(
  deps: MailRootDeps,
  { root, catalog }: MailRoot,
  removal: CatalogRemoval,
  plan: ClearPlan,
  options: ClearOptions,
): Promise<{ applied: MaintenanceAction[]; failed: MaintenanceAction[] }> {
  const { files } = deps;
  const outcome: { applied: MaintenanceAction[]; failed: MaintenanceAction[] } = { applied: [], failed: [] };
  const attempt = (actions: readonly MaintenanceAction[], work: () => void) => {
    try {
      work();
      outcome.applied.push(...actions);
    } catch (error) {
      outcome.failed.push(...actions.map((action) => ({ ...action, reason: messageOf(error) })));
    }
  };
  const forgotten =
    plan.only === null ? null : { registrationId: plan.only, messageIds: [...plan.gone, ...plan.forgotten] };
  removal.remove(plan.gone, forgotten);
  for (const { row, actions } of plan.mailboxes) {
    await breathe(options, { step: `clearing ${row.address}`, done: 0, total: null });
    attempt(actions, () => pruneMailbox(deps, root, removal, row));
  }
  for (const [at, { action, path }] of plan.artifacts.entries()) {
    if (at % batch === 0)
      await breathe(options, { step: "removing files", done: at, total: plan.artifacts.length });
    // A delivery may have come by the same name since; then the index knows it.
    const id = action.details["message_id"];
    if (typeof id === "string" && catalog.knows(id)) continue;
    attempt([action], () => files.remove("mail.cleared", path));
  }
  return outcome;
}

/** What `make` makes, or why it refused. Throws what is no refusal. */
function refusable<T>(make: () => T): { made: T } | { refused: string } {
  try {
    return { made: make() };
  } catch (error) {
    if (error instanceof ServiceError) return { refused: messageOf(error) };
    throw error;
  }
}

function storedMessage(files: Files, root: string, { messageId, canonicalPath }: RemovableMessage) {
  const day = canonicalPath.split("/")[1] ?? "";
  const path = messageFile(files, root, { messageId, createdAtUtc: `${day}T` });
  if (path === `${root}/${canonicalPath}`) return path;
  throw new ServiceError("transport_failed", "the index names another file for it than its own");
}

function flagCount({ files, clock, steps }: MailRootDeps, path: string): number {
  if (!files.exists(path)) return 0;
  const state = openMailboxState({ path, clock, steps });
  try {
    return upkeepOfState(state.store).count();
  } finally {
    state.close();
  }
}

/** The state forgets what the index no longer gives this mailbox, and the links to it go. */
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
      for (let after = 0; ; ) {
        const rows = upkeep.rowsAfter(after, batch);
        if (rows.length === 0) break;
        after = rows.at(-1)?.seq ?? after;
        const surplus = rows.filter((one) => !removal.holds(row.registrationId, one.messageId));
        if (surplus.length > 0) upkeep.remove(surplus);
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
      const link = files.contained(folder, [box, name]);
      if (files.isLink(link)) files.remove("mail.link-removed", link);
    }
  }
}
