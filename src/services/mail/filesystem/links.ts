import { relative } from "node:path";
import type { Files } from "../../../system/files.ts";
import { archive } from "../view-state.ts";
import { liesBelow, linkPath, messageFile, whyOutside } from "./root-paths.ts";

/** A message of a mailbox as a symbolic link `<box>/<message id>.md` to its file. For people; decides nothing. */
export interface Link {
  root: string;
  /** The mailbox's own folder. */
  mailbox: string;
  box: string;
  message: { messageId: string; createdAtUtc: string };
}

/** Whether the link is there now. Never throws: what cannot be linked can still be read. */
export function placeLink(files: Files, link: Link): boolean {
  try {
    if (isDetour(files, link)) return false;
    const path = linkAt(files, link);
    if (files.isLink(path)) return true;
    const target = messageFile(files, link.root, link.message);
    // A moved root keeps its links, as far as the mailbox is inside of it.
    const inside = liesBelow(link.root, link.mailbox);
    const box = files.contained(link.mailbox, [link.box], "folder");
    files.symlink("mail.linked", inside ? relative(box, target) : target, path);
    return true;
  } catch {
    return false;
  }
}

/**
 * The link of a message just delivered, at a recipient who may have archived it in the meantime: then it goes again.
 * Never throws.
 */
export function announceLink(files: Files, link: Link): void {
  if (!placeLink(files, link) || link.box === archive) return;
  try {
    if (files.isLink(linkAt(files, { ...link, box: archive }))) {
      files.remove("mail.link-late", linkAt(files, link));
    }
  } catch {
    // It is only for people.
  }
}

/** Moves the link from the box where it was, or makes it. Whether it is in its place now; never throws. */
export function moveLink(files: Files, link: Link, from: string | null): boolean {
  try {
    if (isDetour(files, link)) return false;
    files.ensureDirectory("mail.box-made", files.contained(link.mailbox, [link.box], "folder"));
    const before = from === null ? null : linkAt(files, { ...link, box: from });
    if (before !== null && files.isLink(before)) {
      if (from !== link.box) files.rename("mail.relinked", before, linkAt(files, link));
      return true;
    }
  } catch {
    // It was moved by another process, or cannot be: the link is looked for below.
  }
  return placeLink(files, link);
}

/** Whether something on the way to the mailbox has become a symbolic link. */
function isDetour(files: Files, { root, mailbox, box }: Link): boolean {
  return liesBelow(root, mailbox) && whyOutside(files, root, `${mailbox}/${box}`) !== null;
}

function linkAt(files: Files, { mailbox, box, message }: Link) {
  return linkPath(files, mailbox, box, message.messageId);
}
