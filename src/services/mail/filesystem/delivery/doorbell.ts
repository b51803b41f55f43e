import { childPath } from "../../../../system/contained-path.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import type { FolderWatch } from "../../../../system/watch.ts";
import { inbox } from "../../view-state.ts";
import { type Link, linkAt, otherBoxes, placeLink } from "../registration/seeding.ts";

/**
 * The doorbell of a mailbox on disk. After the commit of a delivery the sender puts the link of the new
 * message into the recipient's inbox; the recipient's gateway, another process, watches that folder for new
 * links. It is only a hint: the message is delivered without it, and the recipient's next scheduled poll
 * finds it.
 */
interface Doorbell {
  /**
   * Announces one delivered message. The first failure of each mailbox is reported, and the next one only
   * after an announcement has worked again. Never throws.
   */
  announce(link: Link): void;
}

export function createDoorbell(deps: { files: Files; onFault?: (what: string) => void }): Doorbell {
  const { files, onFault } = deps;
  /** Mailboxes whose failure is reported. */
  const silent = new Set<string>();
  return {
    announce(link) {
      const why = tryAnnounce(files, link);
      if (why === null) silent.delete(link.mailbox);
      else if (!silent.has(link.mailbox)) {
        silent.add(link.mailbox);
        onFault?.(
          `the doorbell of ${link.mailbox} failed: ${why}. Its mail is delivered, and its next poll finds it`,
        );
      }
    },
  };
}

/** Null when it worked, else why not. */
function tryAnnounce(files: Files, link: Link): string | null {
  const why = placeLink(files, link);
  if (why !== null) return why;
  try {
    // The recipient may have moved the message between the commit and the link.
    if (otherBoxes(files, link.mailbox).some((box) => linkAt(files, { ...link, box }).found === "link")) {
      files.remove("mail.link-late", linkAt(files, link).path);
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Calls `listener` after each announcement to the mailbox in `folder`. Returns the function that ends it. */
export function watchDoorbell(
  { files, watch }: { files: Pick<Files, "isLink">; watch: FolderWatch },
  folder: string,
  listener: () => void,
): () => void {
  const inboxFolder = childPath(folder, inbox);
  return watch.watchFolder(inboxFolder, (name) => {
    // A link that was removed, as when the owner archives the message, is not an announcement.
    if (name === null || files.isLink(childPath(inboxFolder, name))) listener();
  });
}
