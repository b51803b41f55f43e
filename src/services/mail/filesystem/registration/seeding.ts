import { dirname, relative } from "node:path";
import type { Catalog, ProjectedMessage, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import type { MailboxState, NewStateRow, SeedMark } from "../../../../db/mailbox/state.ts";
import { childPath, isOneName } from "../../../../system/contained-path.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { inbox, isBox, sent } from "../../view-state.ts";
import { readDelivered } from "../delivery/late-files.ts";
import { bodyOf } from "../delivery/message-file.ts";
import { liesBelow, locateLink, mailboxFolder, messageFile, whyOutside } from "../root-paths.ts";
import { createInspector, type Inspector, toStoredVerdict } from "../upkeep/inspector.ts";

/** Some milliseconds of work. */
const batch = 50;
/** A step reads no more files once it has read so many characters: a message may have 8 MiB. */
const charsAtOnce = 8 * 2 ** 20;
/** So much of a body can be searched. */
export const searchableChars = 1024 * 1024;

export interface Seeding {
  files: Files;
  root: string;
  catalog: Catalog;
  state: MailboxState;
  registration: RegistrationRow;
}

/**
 * Brings a mailbox up to what the catalog says was delivered to it, and its links to where its messages are.
 * New mail is unread in the inbox, what the owner sent is read in `sent`, and what he answered counts as
 * answered. A message whose link lies in another box was moved there by its owner and the state that knew it
 * is lost: it begins there, as read. Known messages stay as they are; after a crash the next process finishes
 * the work.
 *
 * Another process may clear the mailbox meanwhile. Whether the catalog still has a message is asked while the
 * state is locked. A clear changes the catalog first and then waits for that lock: either the message is left
 * out here, or the clear finds its row and its link.
 */
export function seedMailbox(seeding: Seeding): void {
  while (!seedStep(seeding));
}

/**
 * A bounded part of the same, so that others can work in between. Returns whether the mailbox is whole now.
 */
export function seedStep(seeding: Seeding): boolean {
  return addNext(seeding) && placeNext(seeding);
}

/** Puts the links of changed messages where they belong. */
export function placeLinks(seeding: Omit<Seeding, "catalog">): void {
  while (!placeNext(seeding));
}

function addNext(seeding: Seeding): boolean {
  const { catalog, state, registration } = seeding;
  const { registrationId } = registration;
  const generation = catalog.generation();
  const newest = catalog.newestProjection(registrationId);
  const mark = state.mark();
  const continues =
    mark?.generation === generation && mark.registrationId === registrationId && mark.seededSeq <= newest;
  const from = continues ? mark.seededSeq : 0;
  if (continues && from === newest) return true;
  const found = catalog.projectionsAfter(registrationId, from, batch);
  const rows: NewStateRow[] = [];
  const moved = found.length === 0 ? () => null : boxOfMoved(seeding);
  const inspector = createInspector(catalog);
  const mailbox = mailboxFolder(seeding.files, seeding.root, registration);
  let seededSeq = from;
  let chars = 0;
  for (const message of found) {
    if (chars > charsAtOnce) break;
    seededSeq = message.seq;
    if (state.get(message.messageId) !== null) continue;
    const text = readDelivered(seeding.files, seeding.root, catalog, message);
    chars += text?.length ?? 0;
    rows.push(toStateRow(seeding, message, { text, movedTo: moved(message.messageId), inspector }));
  }
  if (found.length === 0) seededSeq = newest;
  const next: SeedMark = { generation, registrationId, seededSeq };
  state.seed("sql:mail-seeded", rows, next, (row) => {
    if (!catalog.holders(row.messageId).includes(registrationId)) return null;
    const link = { root: seeding.root, mailbox, box: row.boxName, message: row };
    return { ...row, linkBox: placeLink(seeding.files, link) === null ? row.boxName : null };
  });
  return found.length < batch && (found.at(-1)?.seq ?? newest) === seededSeq;
}

function placeNext({ files, root, state, registration }: Omit<Seeding, "catalog">): boolean {
  const rows = state.misplaced(batch);
  const mailbox = mailboxFolder(files, root, registration);
  const placed = rows.flatMap((message) => {
    const link = { root, mailbox, box: message.boxName, message };
    return moveLink(files, link, message.linkBox) === null
      ? [{ seq: message.seq, box: message.boxName }]
      : [];
  });
  state.placed("sql:mail-relinked", placed);
  // What cannot be linked now is tried again by the next operation.
  return rows.length < batch || placed.length === 0;
}

/** The box, other than where mail arrives, in which a message has its link; null without one. */
function boxOfMoved({
  files,
  root,
  registration,
}: Pick<Seeding, "files" | "root" | "registration">): (messageId: string) => string | null {
  const mailbox = mailboxFolder(files, root, registration);
  const boxes = otherBoxes(files, mailbox);
  const holds = (box: string, messageId: string) =>
    isOneName(messageId) && files.isLink(childPath(mailbox, box, `${messageId}.md`));
  return (messageId) => boxes.find((box) => holds(box, messageId)) ?? null;
}

/** The boxes of a mailbox into which only its owner moves mail. */
export function otherBoxes(files: Files, mailbox: string): string[] {
  return files
    .list(mailbox)
    .filter((name) => name !== inbox && name !== sent && isBox(name) && isOneName(name))
    .filter((name) => {
      const folder = childPath(mailbox, name);
      return !files.isLink(folder) && files.stat(folder)?.directory === true;
    });
}

/** Whether the folder of a mailbox holds links of messages that its owner moved: a state knew of them. */
export function holdsMovedMail({ files, root, registration }: Omit<Seeding, "catalog" | "state">): boolean {
  const mailbox = mailboxFolder(files, root, registration);
  return otherBoxes(files, mailbox).some((box) =>
    files.list(childPath(mailbox, box)).some((name) => name.endsWith(".md")),
  );
}

/** The row of a message that is not linked yet. */
function toStateRow(
  { registration }: Seeding,
  message: ProjectedMessage,
  { text, movedTo, inspector }: { text: string | null; movedTo: string | null; inspector: Inspector },
): NewStateRow {
  const { address } = registration;
  const isOwn = message.senderAddress === address;
  const box = movedTo ?? (message.folder === sent ? sent : inbox);
  return {
    messageId: message.messageId,
    threadId: message.threadId,
    createdAtUtc: message.createdAtUtc,
    subject: message.subject,
    sender: message.senderAddress,
    isRead: box !== inbox,
    isAnswered: false,
    boxName: box,
    linkBox: null,
    envelopeJson: message.envelopeJson,
    bodyPreview: message.bodyPreview,
    attestation: toStoredVerdict(
      inspector.inspectRow(message.envelopeJson, text === null ? null : bodyOf(text), address),
    ),
    body: text === null ? "" : bodyOf(text).slice(0, searchableChars),
    answers: isOwn ? message.inReplyTo : null,
  };
}

/**
 * A message of a mailbox as a symbolic link `<box>/<message id>.md` to its file, so that a person can read
 * the mail with ordinary tools. The state of the mailbox decides in which box a message is; a missing link is
 * made again by the next operation of its owner.
 */
export interface Link {
  root: string;
  /** The mailbox's own folder. */
  mailbox: string;
  box: string;
  message: { messageId: string; createdAtUtc: string };
}

/** Null when the link is in its place, else why not. Never throws. */
export function placeLink(files: Files, link: Link): string | null {
  try {
    const detour = whyDetour(files, link);
    if (detour !== null) return detour;
    const { path, found } = linkAt(files, link);
    if (found === "link") return null;
    const target = messageFile(files, link.root, link.message);
    // A root that was moved keeps the links of the mailboxes inside of it.
    const inside = liesBelow(link.root, link.mailbox);
    files.symlink("mail.linked", inside ? relative(dirname(path), target) : target, path);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Moves the link from the box where it was, or makes it. Null when it is in its place, else why not. Never
 * throws.
 */
function moveLink(files: Files, link: Link, from: string | null): string | null {
  try {
    const detour = whyDetour(files, link);
    if (detour !== null) return detour;
    files.ensureDirectory("mail.box-made", files.contained(link.mailbox, [link.box], "folder"));
    const before = from === null ? null : linkAt(files, { ...link, box: from });
    if (before?.found === "link") {
      if (from !== link.box) files.rename("mail.relinked", before.path, linkAt(files, link).path);
      return null;
    }
  } catch {
    // Another process has moved it, or it cannot be moved: `placeLink` finds out which.
  }
  return placeLink(files, link);
}

/** Why a folder on the way to the box is not the mailbox's own, or null. */
function whyDetour(files: Files, { root, mailbox, box }: Link): string | null {
  return liesBelow(root, mailbox) ? whyOutside(files, root, `${mailbox}/${box}`) : null;
}

export function linkAt(files: Files, { mailbox, box, message }: Link) {
  return locateLink(files, mailbox, box, message.messageId);
}
