import type { Catalog, ProjectedMessage, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import type { MailboxState, NewStateRow, SeedMark } from "../../../db/mailbox/state.ts";
import type { Files } from "../../../system/files.ts";
import { bodyOf } from "../message-file.ts";
import { inbox, sent } from "../view-state.ts";
import { moveLink, placeLink } from "./links.ts";
import { mailboxFolder, readMessageFile } from "./stored-paths.ts";

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
 * Brings a mailbox up to what the catalog says was delivered to it, and its links to where its messages are. New mail
 * is unread in the inbox, what the owner sent is read in `sent`, and what he answered counts as answered. What the
 * mailbox knows already stays as it is: whoever died on the way, the next to come finishes.
 */
export function seedMailbox(seeding: Seeding): void {
  while (!seedStep(seeding));
}

/** A bounded part of the same, so that others can work in between. Returns whether the mailbox is whole now. */
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
  let seededSeq = from;
  let chars = 0;
  for (const message of found) {
    if (chars > charsAtOnce) break;
    seededSeq = message.seq;
    if (state.get(message.messageId) !== null) continue;
    const text = readMessageFile(seeding.files, seeding.root, message);
    chars += text?.length ?? 0;
    rows.push(toStateRow(seeding, message, text));
  }
  if (found.length === 0) seededSeq = newest;
  const next: SeedMark = { generation, registrationId, seededSeq };
  state.seed("sql:mail-seeded", rows, next);
  return found.length < batch && (found.at(-1)?.seq ?? newest) === seededSeq;
}

function placeNext({ files, root, state, registration }: Omit<Seeding, "catalog">): boolean {
  const rows = state.misplaced(batch);
  const mailbox = mailboxFolder(files, root, registration);
  const placed = rows.flatMap((message) => {
    const link = { root, mailbox, box: message.boxName, message };
    return moveLink(files, link, message.linkBox) ? [{ seq: message.seq, box: message.boxName }] : [];
  });
  state.placed("sql:mail-relinked", placed);
  // What cannot be linked now is tried again by the next operation.
  return rows.length < batch || placed.length === 0;
}

function toStateRow(
  { files, root, registration }: Seeding,
  message: ProjectedMessage,
  text: string | null,
): NewStateRow {
  const { address } = registration;
  const isOwn = message.senderAddress === address;
  const box = message.folder === sent ? sent : inbox;
  const mailbox = mailboxFolder(files, root, registration);
  return {
    messageId: message.messageId,
    threadId: message.threadId,
    createdAtUtc: message.createdAtUtc,
    subject: message.subject,
    sender: message.senderAddress,
    isRead: box === sent,
    isAnswered: false,
    boxName: box,
    linkBox: placeLink(files, { root, mailbox, box, message }) ? box : null,
    envelopeJson: message.envelopeJson,
    bodyPreview: message.bodyPreview,
    body: text === null ? "" : bodyOf(text).slice(0, searchableChars),
    answers: isOwn ? message.inReplyTo : null,
  };
}
