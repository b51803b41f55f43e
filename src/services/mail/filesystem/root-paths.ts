import { isAbsolute, normalize, relative, sep } from "node:path";
import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { openMailboxState } from "../../../db/mailbox/state.ts";
import type { Remedy } from "../../../protocol/remedy.ts";
import type { Clock } from "../../../system/clock.ts";
import {
  type ContainedPath,
  childPath,
  type ExpectedKind,
  type Located,
  PathRefused,
} from "../../../system/contained-path.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import type { Locks } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import type { FolderWatch } from "../../../system/watch.ts";
import { shown } from "../address.ts";

/** What a mailbox root needs of the system: a `System` with its `Locks` has it. */
export interface MailRootDeps {
  files: Files;
  clock: Clock;
  ids: Ids;
  steps: Steps;
  locks: Locks;
  watch: FolderWatch;
  /** Reports the state of a mailbox that was lost and has been rebuilt. */
  onMended?: (what: string) => void;
  /** Reports a fault that mail goes on without: once, until it is over. */
  onFault?: (what: string) => void;
}

/**
 * Where things lie below a mailbox root; the layout is public. Source: spec/mailbox-agui.md A5; ruling 14.
 * Pure.
 */
export function rootPaths(root: string) {
  const at = (...parts: string[]) => childPath(root, ...parts);
  return {
    root,
    protocolVersion: at("protocol-version.txt"),
    index: at("index.sqlite"),
    messages: at("messages"),
    attachments: at("attachments", "managed"),
    mailboxes: at("mailboxes"),
    locks: at("locks"),
    addressLocks: at("locks", "addresses"),
    indexLock: at("locks", "index.lock"),
    staging: at("staging"),
    quarantine: at("staging", "quarantine"),
    rules: at("rules"),
  };
}

/** Relative to the root. `createdAtUtc` begins with the date. */
export function canonicalPath(message: { messageId: string; createdAtUtc: string }): string {
  return `messages/${message.createdAtUtc.slice(0, 10)}/${message.messageId}.md`;
}

/** `stamp`: YYYYMMDDTHHMMSSZ; `hex`: 32 hexadecimal characters. */
export function messageId(stamp: string, hex: string): string {
  return `msg-${stamp}-${hex}`;
}

export function isMessageId(text: string): boolean {
  return /^msg-\d{8}T\d{6}Z-[0-9a-f]{32}$/.test(text);
}

/** Relative to the root. */
export function entryPath(address: string): string {
  return `mailboxes/${address}`;
}

/** Relative to the root. */
export function attachmentPath(attachmentId: string, fileName: string): string {
  return `attachments/managed/${attachmentId}/${fileName}`;
}

/** Inside of a mailbox. */
export const stateFileName = "mailbox.sqlite";

// The databases of a root are files that somebody else may have written, such as the author of a repository
// that was cloned. What they name becomes a path only here. Source: spec/security.md, rule 1.

type Message = { messageId: string; createdAtUtc: string };
type Stored = Placed & { registrationId: string };
type Placed = Pick<RegistrationRow, "address" | "mailboxKind" | "mailboxPath" | "mailboxEntryPath">;

/** Throws `transport_failed` for a path that leaves the root, or goes through a link. */
export function pathInRoot(
  files: Files,
  root: string,
  path: string | readonly string[],
  expected: ExpectedKind = "entry",
): ContainedPath {
  return locateInRoot(files, root, path, expected).path;
}

function locateInRoot(
  files: Files,
  root: string,
  path: string | readonly string[],
  expected: ExpectedKind,
): Located {
  try {
    return files.locate(root, path, expected);
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error;
    throw new ServiceError(
      "transport_failed",
      `${error.message}; put the folder of the mailbox root back, or have it repaired`,
      { cause: error, data: { remedy: { code: "repair_mailboxes" } satisfies Remedy } },
    );
  }
}

/**
 * Whether `path`, relative to the root, is an entry that a registration may have below `mailboxes/`. A
 * planted column holds anything, whatever its type says. Pure.
 */
export function isEntryPath(path: unknown): path is string {
  if (typeof path !== "string") return false;
  const [folder, name, ...rest] = path.split("/");
  return folder === "mailboxes" && rest.length === 0 && /^[A-Za-z0-9][A-Za-z0-9._+@-]*$/.test(name ?? "");
}

/**
 * Whether a registration says what one of ours says: its own entry, and its mail there or at an absolute
 * path. Pure.
 */
export function isUsable(row: Stored): boolean {
  const { address, mailboxKind, mailboxPath, mailboxEntryPath: entry } = row;
  if ([address, mailboxPath, entry].some((value) => typeof value !== "string")) return false;
  const name = entry.slice("mailboxes/".length);
  const own = name === address || (name.startsWith(`${address}--`) && name.length === address.length + 34);
  const placed =
    mailboxKind === "in_root"
      ? mailboxPath === entry
      : isAbsolute(mailboxPath) && normalize(mailboxPath) === mailboxPath && !/[\x00-\x1f]/.test(mailboxPath);
  return isEntryPath(entry) && own && placed && /^reg-[A-Za-z0-9-]+$/.test(row.registrationId);
}

/** Where a registration says that its mail lies, absolute. To be shown; nothing is opened there. Pure. */
export function statedFolder(root: string, row: Placed): string {
  return row.mailboxKind === "in_root" ? `${root}/${row.mailboxPath}` : row.mailboxPath;
}

/**
 * Where a registration's mail lies, absolute. Throws `transport_failed` for a row that is none of ours, and
 * for a folder outside of the root that this user did not register.
 */
export function mailboxFolder(files: Files, root: string, row: Stored): string {
  const whose = `the registration of ${shown(row.address)}`;
  const refused = (why: string, remedy: Remedy) =>
    new ServiceError("transport_failed", `${whose} ${why}`, { data: { remedy } });
  if (!isUsable(row)) throw refused("names a path that is not its own", { code: "repair_mailboxes" });
  if (row.mailboxKind === "in_root") return pathInRoot(files, root, row.mailboxPath, "folder");
  if (!files.isOwnFolder(row.mailboxPath) || !isMarked(files, row)) {
    throw refused("names a folder that this user did not register for it", { code: "register_folder" });
  }
  return row.mailboxPath;
}

/** In a mailbox outside of its root: the id of the registration that a user of that folder made. */
const markName = ".svc-registration";

/** Whether a linked mailbox says itself that it belongs to this registration. */
export function isMarked(files: Files, { mailboxPath, registrationId }: Stored): boolean {
  return files.read(childPath(mailboxPath, markName))?.trim() === registrationId;
}

/**
 * The registration that a linked mailbox says it belongs to, or null; null for the folder of another user. An
 * earlier version left no mark, but its state names the registration.
 */
export function registrationIn(
  { files, clock, steps }: Pick<MailRootDeps, "files" | "clock" | "steps">,
  folder: string,
): string | null {
  if (!files.isOwnFolder(folder)) return null;
  const marked = files.read(childPath(folder, markName))?.trim();
  if (marked !== undefined) return marked;
  const path = files.contained(folder, [stateFileName], "file");
  if (!files.exists(path)) return null;
  const state = openMailboxState({ path, clock, steps });
  try {
    return state.mark()?.registrationId ?? null;
  } finally {
    state.close();
  }
}

/**
 * Makes the folder of a linked mailbox that this user names, and says in it to which registration it belongs.
 */
export function markMailbox(files: Files, row: Stored): void {
  if (isMarked(files, row)) return;
  files.ensureDirectory("mail.linked-folder", row.mailboxPath);
  files.write("mail.linked-marked", childPath(row.mailboxPath, markName), `${row.registrationId}\n`);
}

/**
 * The file of a message. Throws `transport_failed` where its id or time is none of ours, or a link is on the
 * way.
 */
export function messageFile(files: Files, root: string, message: Message): ContainedPath {
  return locateMessage(files, root, message).path;
}

/** The same, and whether something is there. */
export function locateMessage(files: Files, root: string, message: Message): Located {
  const { messageId, createdAtUtc } = message;
  if (!isMessageId(messageId) || !/^\d{4}-\d\d-\d\dT/.test(createdAtUtc)) {
    throw new ServiceError("transport_failed", `${shown(messageId)} is no message of this mailbox root`);
  }
  return locateInRoot(files, root, canonicalPath(message), "file");
}

/** The text of the file of a message; null when there is none that could be its own. */
export function readMessageFile(files: Files, root: string, message: Message): string | null {
  try {
    return files.read(messageFile(files, root, message));
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/**
 * The link of a message in a box. Throws `PathRefused` for a box or an id that is no name, or a link in its
 * place.
 */
export function linkPath(files: Files, mailbox: string, box: string, messageId: string): ContainedPath {
  return locateLink(files, mailbox, box, messageId).path;
}

/** The same, and whether something is there. */
export function locateLink(files: Files, mailbox: string, box: string, messageId: string): Located {
  return files.locate(mailbox, [box, `${messageId}.md`]);
}

/** Where an attachment was copied to, with its folder. Throws as `pathInRoot`. */
export function attachmentPlace(
  files: Files,
  root: string,
  stored: string,
): { file: ContainedPath; folder: ContainedPath } {
  const names = stored.split("/");
  if (names.length !== 4 || names[0] !== "attachments" || names[1] !== "managed") {
    throw new ServiceError("transport_failed", `${shown(stored)} is no attachment of this mailbox root`);
  }
  return {
    file: pathInRoot(files, root, names, "file"),
    folder: pathInRoot(files, root, names.slice(0, 3), "folder"),
  };
}

/** Whether `path` lies below `folder`, by the text of both alone. Both are absolute. Pure. */
export function liesBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Why removing `path` could touch something outside of `folder`, or null: it is not below it, or a folder on
 * the way there is a symbolic link. A link at `path` itself is harmless, because only the link would go. Both
 * absolute.
 */
export function whyOutside(files: Pick<Files, "isLink">, folder: string, path: string): string | null {
  if (!liesBelow(folder, path)) return "it lies outside of the mailbox root";
  let onTheWay = folder;
  for (const name of relative(folder, path).split(sep).slice(0, -1)) {
    onTheWay = `${onTheWay}/${name}`;
    if (files.isLink(onTheWay)) return `${onTheWay} is a symbolic link`;
  }
  return null;
}
