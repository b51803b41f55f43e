import type { Catalog, ProjectedMessage, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import type { MailboxState, NewStateRow, SeedMark } from "../../../db/mailbox/state.ts";
import type { Files } from "../../../system/files.ts";
import { bodyOf } from "../message-file.ts";
import { inbox, sent } from "../view-state.ts";
import { moveLink, placeLink } from "./links.ts";
import { mailboxFolder, readMessageFile } from "./stored-paths.ts";

/** Some milliseconds of work. */
const batch = 50;
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
  const next: SeedMark = { generation, registrationId, seededSeq: found.at(-1)?.seq ?? newest };
  const rows = found.filter(({ messageId }) => state.get(messageId) === null);
  state.seed(
    "sql:mail-seeded",
    rows.map((row) => toStateRow(seeding, row)),
    next,
  );
  return found.length < batch;
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

function toStateRow({ files, root, registration }: Seeding, message: ProjectedMessage): NewStateRow {
  const { address } = registration;
  const isOwn = message.senderAddress === address;
  const box = message.folder === sent ? sent : inbox;
  const mailbox = mailboxFolder(files, root, registration);
  const text = readMessageFile(files, root, message);
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
