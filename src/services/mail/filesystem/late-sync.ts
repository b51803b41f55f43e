import { basename, dirname } from "node:path";
import type { Catalog } from "../../../db/mailbox/catalog.ts";
import { openUnsyncedMessages, type UnsyncedMessage } from "../../../db/mailbox/unsynced-messages.ts";
import type { ContainedPath } from "../../../system/contained-path.ts";
import { messageOf } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { isFileOf } from "./message-file.ts";
import { type MailRootDeps, messageFile, pathInRoot, readMessageFile, rootPaths } from "./root-paths.ts";

/**
 * Files of messages that are synced after the answer. A delivery writes the file, and the commit of the index, which is
 * synced, holds its text too: the answer costs one sync instead of three. A reader finds the file at once. It is
 * put on disk some time later, and then the text goes. A loss of power in between may take the file or a part of it: the
 * next one to open the root compares each file with its text and writes it again.
 */
export interface LateSync {
  /** A message was delivered whose file is not synced. Never throws. */
  soon(): void;
  /**
   * Compares what waits with its files, mends these, and puts them on disk before it returns. What cannot be is reported and
   * tried again. Never throws.
   */
  recover(): void;
  /** Puts on disk what waits, and ends. */
  close(): void;
}

/** The file of a longer text is synced before the commit: a second copy of it would cost more than the sync. */
export const maxUnsyncedChars = 64 * 1024;

/** Many deliveries follow each other: one sync of the folder and one commit serve all of them. */
const delayMs = 100;
const retryMs = 10_000;
const batch = 64;
/**
 * After so many deliveries the log of the index is used from its start again: one that is written over syncs in half the
 * time of one that grows.
 */
const deliveriesPerLog = 32;

type Deps = Pick<MailRootDeps, "files" | "clock" | "onMended" | "onFault">;

export function createLateSync(deps: Deps, root: string, catalog: Catalog): LateSync {
  const { files, clock, onMended, onFault } = deps;
  const unsynced = openUnsyncedMessages(catalog);
  let cancel: (() => void) | null = null;
  let working = false;
  let closed = false;
  /** Ids of messages whose sync failed. The system may then take what it lost for written: only a new file is on disk. */
  const unsure = new Set<string>();
  /** A failure is reported once, until everything is on disk again. */
  let reported = false;
  /** Deliveries since the log of the index was carried over. */
  let logged = 0;

  function later(ms: number): void {
    if (closed) return;
    cancel?.();
    cancel = clock.after(ms, () => {
      cancel = null;
      if (working) later(delayMs);
      else void settleInBackground();
    });
  }

  function failed(error: unknown): void {
    if (!reported) {
      onFault?.(
        `files of delivered mail cannot be put on disk: ${messageOf(error)}. Their texts are in the index, and it is tried again`,
      );
    }
    reported = true;
    later(retryMs);
  }

  /** What waits, a batch at a time, each row once. */
  function* waiting(): Generator<UnsyncedMessage[]> {
    for (let after = 0; !closed; ) {
      const rows = unsynced.waiting({ after, limit: batch });
      if (rows.length === 0) return;
      yield rows;
      after = rows.at(-1)?.seq ?? after;
    }
  }

  /** Null for a row of no message: it is dropped. */
  function placeOf({ messageId, createdAtUtc, text }: UnsyncedMessage): ContainedPath | null {
    if (createdAtUtc === null || !isFileOf(text, messageId)) return null;
    return messageFile(files, root, { messageId, createdAtUtc });
  }

  function rewrite(row: UnsyncedMessage, place: ContainedPath): void {
    // A clear takes the same lock, and removes the file of a message after its row.
    catalog.undisturbed("sql:mail-rewritten", () => {
      if (!unsynced.has(row)) return;
      writeAgain(files, root, place, row.text);
      onMended?.(`the file of ${row.messageId} was lost or cut off and is written again from the index`);
    });
  }

  /** Also a file that a crash has cut off can be synced: it is compared first. */
  function mend(row: UnsyncedMessage, place: ContainedPath): void {
    if (unsure.has(row.messageId) || files.readOwn(place) !== row.text) rewrite(row, place);
    unsure.delete(row.messageId);
  }

  function sync(row: UnsyncedMessage, place: ContainedPath): void {
    mend(row, place);
    try {
      files.sync("mail.synced", place);
    } catch {
      unsure.add(row.messageId);
      mend(row, place);
    }
  }

  /** A failure of `act` is reported. */
  function attempt(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  function settle(): void {
    attempt(() => {
      for (const rows of waiting()) {
        const places: ContainedPath[] = [];
        const done = rows.filter((row) =>
          attempt(() => {
            const place = placeOf(row);
            if (place === null) return;
            sync(row, place);
            places.push(place);
          }),
        );
        for (const folder of foldersOf(places)) files.sync("mail.folder-synced", folder);
        unsynced.settle(done);
      }
    });
  }

  async function settleInBackground(): Promise<void> {
    working = true;
    let whole = true;
    try {
      for (const rows of waiting()) {
        const synced = await Promise.all(rows.map(syncRow));
        const places = synced.flatMap((one) => one?.place ?? []);
        for (const folder of foldersOf(places)) await files.syncInBackground("mail.folder-synced", folder);
        if (closed) return;
        logged += rows.length;
        if (logged >= deliveriesPerLog) {
          // Before the commit that follows, for which no answer waits: the first one of a log syncs twice. What comes meanwhile
          // waits some 5 ms.
          catalog.store.carryOver();
          logged = 0;
        }
        unsynced.settle(rows.filter((_, nth) => synced[nth] !== null));
        whole &&= !synced.includes(null);
      }
      if (whole) reported = false;
    } catch (error) {
      if (!closed) failed(error);
    } finally {
      working = false;
    }
  }

  /** Null where it failed. */
  async function syncRow(row: UnsyncedMessage): Promise<{ place: ContainedPath | null } | null> {
    try {
      const place = placeOf(row);
      if (place !== null) mend(row, place);
      try {
        if (place !== null) await files.syncInBackground("mail.synced", place);
      } catch (error) {
        if (closed || place === null) throw error;
        unsure.add(row.messageId);
        mend(row, place);
      }
      return { place };
    } catch (error) {
      if (!closed) failed(error);
      return null;
    }
  }

  return {
    soon() {
      if (cancel === null) later(delayMs);
    },
    recover: settle,
    close() {
      settle();
      closed = true;
      cancel?.();
      cancel = null;
    },
  };
}

/**
 * The text of the file of a message, also of one that a loss of power took or cut off and that a full disk keeps from being
 * written again. Null when there is none that could be its own.
 */
export function readDelivered(
  files: Files,
  root: string,
  catalog: Pick<Catalog, "unsyncedText">,
  message: { messageId: string; createdAtUtc: string },
): string | null {
  // A file that was cut off in its body looks whole: while the index keeps the text, that decides.
  const kept = catalog.unsyncedText(message.messageId);
  return kept !== null && isFileOf(kept, message.messageId) ? kept : readMessageFile(files, root, message);
}

/** What the opening of a root does for such messages, for who opens its catalog alone. Never throws. */
export function recoverUnsynced(deps: Deps, root: string, catalog: Catalog): void {
  const lateSync = createLateSync(deps, root, catalog);
  lateSync.recover();
  lateSync.close();
}

const foldersOf = (places: readonly ContainedPath[]) => new Set(places.map((place) => dirname(place)));

/** Puts the file of a message in its place once more, durably. */
export function writeAgain(files: Files, root: string, place: ContainedPath, text: string): void {
  const staged = pathInRoot(files, root, ["staging", basename(place)]);
  files.remove("mail.withdrawn", staged);
  files.create("mail.rewritten", staged, text);
  if (!files.exists(dirname(place))) {
    files.ensureDirectory("mail.day-made", dirname(place));
    files.sync("mail.day-synced", rootPaths(root).messages);
  }
  files.place("mail.replaced", staged, place);
}
