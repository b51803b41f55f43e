import type {
  Catalog,
  CatalogStore,
  IndexedMessage,
  RegistrationRow,
} from "../../../../db/mailbox/catalog.ts";
import { afterThisTurn } from "../../../../system/clock.ts";
import { type MailRootDeps, mailboxFolder } from "../root-paths.ts";
import { createDoorbell } from "./doorbell.ts";
import type { LateFiles } from "./late-files.ts";

/** A message that was committed. */
interface Delivered {
  rows: IndexedMessage;
  /** Whose mailboxes hold it. */
  parties: readonly RegistrationRow[];
  /** The index that has it. */
  store: CatalogStore;
}

/**
 * Files and links are made once no message came for so long: who sends one after another waits for none of
 * them.
 */
const quietMs = 5;
/** They are made after so long in any case. */
const latestMs = 50;

export function createAnnouncements(
  deps: Pick<MailRootDeps, "files" | "clock" | "onFault">,
  root: string,
  { catalog, lateFiles }: { catalog: Catalog; lateFiles: Pick<LateFiles, "write"> },
) {
  const { files, clock } = deps;
  const doorbell = createDoorbell(deps);
  /** Oldest first. `atMs`: monotonic. */
  const waiting: { delivered: Delivered; atMs: number }[] = [];
  let cancel: (() => void) | null = null;
  let announcing = false;

  function waitForQuiet(): void {
    cancel?.();
    const waitedMs = clock.monotonicMs() - (waiting[0]?.atMs ?? 0);
    cancel = clock.after(Math.min(quietMs, latestMs - waitedMs), () => {
      cancel = null;
      announcing = true;
      announceNext(waiting.length);
    });
  }

  /** A file and its links take a millisecond: other work comes in between. */
  function announceNext(left: number): void {
    const next = left > 0 ? waiting.shift() : undefined;
    if (next) {
      announce(next.delivered);
      afterThisTurn(() => announceNext(left - 1));
    } else {
      announcing = false;
      if (waiting.length > 0) waitForQuiet();
    }
  }

  /**
   * Writes the file, and links it into each mailbox that holds the message now. Never throws: the message is
   * delivered.
   */
  function announce({ rows, parties, store }: Delivered): void {
    const { message, unsynced } = rows;
    if (unsynced) lateFiles.write({ message, text: unsynced, store });
    for (const { registrationId, folder } of rows.projections) {
      const party = parties.find((one) => one.registrationId === registrationId);
      const mailbox = party && stillHolds(party, message, store) ? folderOf(party) : null;
      if (mailbox !== null) doorbell.announce({ root, mailbox, box: folder, message });
    }
  }

  /** False when the message was cleared since its commit, or the mailbox has another registration. */
  function stillHolds(
    { address, registrationId }: RegistrationRow,
    { messageId }: { messageId: string },
    store: CatalogStore,
  ): boolean {
    try {
      // Its index was replaced: a repair finds the message by its file and its links.
      if (catalog.store !== store) return true;
      if (catalog.active(address)?.registrationId !== registrationId) return false;
      return catalog.holders(messageId).includes(registrationId);
    } catch {
      return true;
    }
  }

  /** Null for a mailbox that refuses every operation: its owner learns why from the next one. */
  function folderOf(party: RegistrationRow): string | null {
    try {
      return mailboxFolder(files, root, party);
    } catch {
      return null;
    }
  }

  return {
    /** Announces a message once no other came for some milliseconds, or soon in any case. */
    soon(delivered: Delivered): void {
      waiting.push({ delivered, atMs: clock.monotonicMs() });
      if (!announcing) waitForQuiet();
    },
    /** Announces all that waits: the mailboxes may look at it. */
    now(): void {
      cancel?.();
      cancel = null;
      for (const { delivered } of waiting.splice(0)) announce(delivered);
    },
  };
}
