import { relative } from "node:path";
import { messageOf } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { liesBelow, linkPath, messageFile, whyOutside } from "./root-paths.ts";

/**
 * A message of a mailbox as a symbolic link `<box>/<message id>.md` to its file, so that a person can read the mail
 * with ordinary tools. The state of the mailbox decides in which box a message is; a missing link is made again by the
 * next operation of its owner.
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
    const path = linkAt(files, link);
    if (files.isLink(path)) return null;
    const target = messageFile(files, link.root, link.message);
    // A root that was moved keeps the links of the mailboxes inside of it.
    const inside = liesBelow(link.root, link.mailbox);
    const box = files.contained(link.mailbox, [link.box], "folder");
    files.symlink("mail.linked", inside ? relative(box, target) : target, path);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Moves the link from the box where it was, or makes it. Null when it is in its place, else why not. Never throws. */
export function moveLink(files: Files, link: Link, from: string | null): string | null {
  try {
    const detour = whyDetour(files, link);
    if (detour !== null) return detour;
    files.ensureDirectory("mail.box-made", files.contained(link.mailbox, [link.box], "folder"));
    const before = from === null ? null : linkAt(files, { ...link, box: from });
    if (before !== null && files.isLink(before)) {
      if (from !== link.box) files.rename("mail.relinked", before, linkAt(files, link));
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
  return linkPath(files, mailbox, box, message.messageId);
}
