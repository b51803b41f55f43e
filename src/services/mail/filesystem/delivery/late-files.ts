import { basename, dirname } from "node:path";
import type { Catalog, CatalogStore } from "../../../../db/mailbox/catalog.ts";
import { openUnsyncedMessages, type UnsyncedMessage } from "../../../../db/mailbox/unsynced-messages.ts";
import { afterThisTurn } from "../../../../system/clock.ts";
import type { ContainedPath } from "../../../../system/contained-path.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { createLoop } from "../../../../system/lifecycle.ts";
import { storageFaultOf } from "../../../../system/storage-fault.ts";
import {
  locateMessage,
  type MailRootDeps,
  messageFile,
  pathInRoot,
  readMessageFile,
  rootPaths,
} from "../root-paths.ts";
import { isFileOf } from "./message-file.ts";

/**
 * Files of messages that follow the answer. The commit of the index, which is synced, holds the text, so the
 * answer costs one sync and no other write: each new file makes the next sync of the same file system wait
 * for its journal. The file is written with its links, put on disk some time later, and then the text goes. A
 * crash in between may take the file or a part of it: the next one to look at a mailbox, or to open the root,
 * compares each file with its text and writes it again.
 */
export type LateFiles = ReturnType<typeof createLateFiles>;

/** A text that waits in the index. `store`: the index that it was committed to. */
interface DeliveredText {
  message: { messageId: string; createdAtUtc: string };
  text: string;
  store: CatalogStore;
}

/** A message whose file has its text. `place`: null for a row of no message. */
interface Mended {
  row: UnsyncedMessage;
  place: ContainedPath | null;
}

/**
 * The file of a longer text is synced before the commit: a second copy of it would cost more than the sync.
 */
export const maxUnsyncedChars = 64 * 1024;

/** Many deliveries follow each other: one sync of the folder and one commit serve all of them. */
const delayMs = 100;
const retryMs = 10_000;
const batch = 64;
/**
 * After so many deliveries the log of the index is used from its start again: one that is written over syncs
 * in half the time of one that grows.
 */
const deliveriesPerLog = 32;

type Deps = Pick<MailRootDeps, "files" | "clock" | "onMended" | "onFault">;

/**
 * ```
 *   nothing due ──delivered──> due soon ──settle_began──> nothing due
 *   any ──failed──> due later; soon, when another process writes to the index
 *   any ──closed──> closed: nothing is due any more
 * ```
 */
export interface LateFilesState {
  /** When what waits is put on disk, on the monotonic clock; null: nothing waits. */
  dueAtMs: number | null;
  isClosed: boolean;
  /** A failure was reported, and not everything was put on disk since. */
  isReported: boolean;
  /** Deliveries since the log of the index was carried over. */
  loggedDeliveries: number;
}

export type LateFilesEvent =
  | { kind: "delivered"; nowMs: number }
  | { kind: "settle_began" }
  | { kind: "failed"; nowMs: number; isBusy: boolean }
  /** Files are on disk, and their texts may go. */
  | { kind: "batch_synced"; deliveries: number }
  | { kind: "log_carried_over" }
  /** `isAll`: nothing that waited is left. */
  | { kind: "settled"; isAll: boolean }
  | { kind: "closed" };

export const initialState: LateFilesState = {
  dueAtMs: null,
  isClosed: false,
  isReported: false,
  loggedDeliveries: 0,
};

/** Pure. */
export function next(state: LateFilesState, event: LateFilesEvent): LateFilesState {
  switch (event.kind) {
    case "delivered":
      return state.isClosed || state.dueAtMs !== null ? state : { ...state, dueAtMs: event.nowMs + delayMs };
    case "settle_began":
      return { ...state, dueAtMs: null };
    case "failed": {
      const dueAtMs = state.isClosed ? null : event.nowMs + (event.isBusy ? delayMs : retryMs);
      return { ...state, dueAtMs, isReported: state.isReported || !event.isBusy };
    }
    case "batch_synced":
      return { ...state, loggedDeliveries: state.loggedDeliveries + event.deliveries };
    case "log_carried_over":
      return { ...state, loggedDeliveries: 0 };
    case "settled":
      return { ...state, isReported: state.isReported && !event.isAll };
    case "closed":
      return { ...state, isClosed: true, dueAtMs: null };
  }
}

export function createLateFiles(deps: Deps, root: string, catalog: Catalog) {
  const { files, clock, onMended, onFault } = deps;
  const unsynced = openUnsyncedMessages(catalog);
  let state = initialState;
  /**
   * Ids of messages whose sync failed. The system may then take what it lost for written: only a new file is
   * on disk.
   */
  const unsure = new Set<string>();

  function apply(event: LateFilesEvent): void {
    const { dueAtMs } = state;
    state = next(state, event);
    if (state.dueAtMs === null || state.dueAtMs === dueAtMs) return;
    loop.start();
    loop.wake();
  }

  const loop = createLoop({
    clock,
    async turn() {
      if (state.dueAtMs === null) return null;
      const waitMs = state.dueAtMs - clock.monotonicMs();
      if (waitMs > 0) return waitMs;
      apply({ kind: "settle_began" });
      await settleInBackground();
      return 0;
    },
    onError: failed,
  });

  /** Another process that writes to the index at this moment is no fault. */
  function failed(error: unknown): void {
    const isBusy = storageFaultOf(error)?.fault === "busy";
    if (!isBusy && !state.isReported) {
      onFault?.(
        `files of delivered mail cannot be put on disk: ${messageOf(error)}. Their texts are in the index, and it is tried again`,
      );
    }
    apply({ kind: "failed", nowMs: clock.monotonicMs(), isBusy });
  }

  /** What waits, a batch at a time, each row once. */
  function* waiting(): Generator<UnsyncedMessage[]> {
    for (let after = 0; !state.isClosed; ) {
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

  /**
   * Also a file that a crash has cut off can be synced: it is compared first. Returns whether it was written.
   */
  function mend(row: UnsyncedMessage, place: ContainedPath, options: { waits: boolean }): boolean {
    const found = files.read(place);
    if (found === row.text && !unsure.has(row.messageId)) return false;
    const work = () => {
      if (!unsynced.has(row)) return;
      placeFile(files, root, { place, text: row.text, durable: true });
      // That a file was not written yet is no fault.
      if (found === null || found === row.text) return;
      onMended?.(`the file of ${row.messageId} was cut off or changed and is written again from the index`);
    };
    // A clear takes the same lock, and removes the file of a message after its row.
    catalog.undisturbed("sql:mail-rewritten", work, options);
    unsure.delete(row.messageId);
    return true;
  }

  function sync(row: UnsyncedMessage, place: ContainedPath, options: { waits: boolean }): void {
    mend(row, place, options);
    try {
      files.sync("mail.synced", place);
    } catch {
      unsure.add(row.messageId);
      mend(row, place, options);
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
    // Once, and not for each file, another process is waited for.
    let waits = true;
    attempt(() => {
      for (const rows of waiting()) {
        const places: ContainedPath[] = [];
        const done = rows.filter((row) => {
          const isDone = attempt(() => {
            const place = placeOf(row);
            if (place === null) return;
            sync(row, place, { waits });
            places.push(place);
          });
          waits &&= isDone;
          return isDone;
        });
        for (const folder of foldersOf(places)) files.sync("mail.folder-synced", folder);
        unsynced.settle(done, { waits });
      }
    });
  }

  async function settleInBackground(): Promise<void> {
    let isAll = true;
    try {
      for (const rows of waiting()) {
        const mended = await mendInTurns(rows);
        const synced = await Promise.all(mended.map(syncMended));
        const places = mended.flatMap(({ place }, nth) => (synced[nth] && place !== null ? place : []));
        for (const folder of foldersOf(places)) await files.syncInBackground("mail.folder-synced", folder);
        if (state.isClosed) return;
        apply({ kind: "batch_synced", deliveries: rows.length });
        if (state.loggedDeliveries >= deliveriesPerLog) {
          // Before the commit that follows, for which no answer waits: the first one of a log syncs twice.
          // What comes meanwhile waits some 5 ms.
          catalog.store.carryOver();
          apply({ kind: "log_carried_over" });
        }
        const done = mended.filter((_, nth) => synced[nth]).map(({ row }) => row);
        unsynced.settle(done, { waits: false });
        isAll &&= done.length === rows.length;
      }
      apply({ kind: "settled", isAll });
    } catch (error) {
      if (!state.isClosed) failed(error);
    }
  }

  /** A file that is written takes milliseconds: other work comes in between. Those that fail are left out. */
  async function mendInTurns(rows: readonly UnsyncedMessage[]): Promise<Mended[]> {
    const mended: Mended[] = [];
    for (const row of rows) {
      if (state.isClosed) break;
      try {
        const place = placeOf(row);
        if (place !== null && mend(row, place, { waits: false })) await new Promise<void>(afterThisTurn);
        mended.push({ row, place });
      } catch (error) {
        failed(error);
      }
    }
    return mended;
  }

  async function syncMended({ row, place }: Mended): Promise<boolean> {
    if (place === null) return true;
    try {
      await files.syncInBackground("mail.synced", place);
      return true;
    } catch {
      if (state.isClosed) return false;
      unsure.add(row.messageId);
      return attempt(() => void mend(row, place, { waits: false }));
    }
  }

  return {
    /**
     * Writes the file of a message whose text waits, without a sync; one that is there already, or whose
     * message was cleared, is left alone. Does not wait for another process that writes to the index. What
     * fails is reported, and tried again with the sync. Never throws.
     */
    write({ message, text, store }: DeliveredText): void {
      const { messageId } = message;
      const place = () => {
        const located = locateMessage(files, root, message);
        if (located.found === "absent") placeFile(files, root, { place: located.path, text, durable: false });
      };
      const work = () => {
        if (store === catalog.store) {
          if (catalog.unsyncedText(messageId) !== null) place();
          return;
        }
        // The index that took the place of the one with the text may have been made without it.
        place();
        if (catalog.knows(messageId)) return;
        onFault?.(
          `the index was replaced while ${messageId} was delivered; a repair of the mailboxes adds it to the new one`,
        );
      };
      attempt(() => {
        try {
          // A clear takes the same lock.
          catalog.undisturbed("sql:mail-filed", work, { waits: false });
        } catch (error) {
          const fault = storageFaultOf(error)?.fault;
          if (fault !== "damaged" && fault !== "missing") throw error;
          // The index that had the text is lost: a repair finds the file.
          place();
        }
      });
    },
    /** Messages may wait whose files are not on disk. Never throws. */
    soon(): void {
      apply({ kind: "delivered", nowMs: clock.monotonicMs() });
    },
    /**
     * Compares what waits with its files, mends these, and puts them on disk before it returns. What cannot be
     * is reported and tried again. Never throws.
     */
    recover: settle,
    /** Puts on disk what waits, and ends. */
    close(): void {
      settle();
      apply({ kind: "closed" });
      void loop.stop();
    },
  };
}

/**
 * The text of the file of a message, also of one that a loss of power took or cut off and that a full disk
 * keeps from being written again. Null when there is none that could be its own.
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
  const lateFiles = createLateFiles(deps, root, catalog);
  lateFiles.recover();
  lateFiles.close();
}

const foldersOf = (places: readonly ContainedPath[]) => new Set(places.map((place) => dirname(place)));

/** Puts the file of a message in its place, whatever is there. `durable`: it is on disk when this returns. */
export function placeFile(
  files: Files,
  root: string,
  { place, text, durable }: { place: ContainedPath; text: string; durable: boolean },
): void {
  const staged = stagedAt(files, root, place);
  files.remove("mail.withdrawn", staged);
  files.create("mail.staged", staged, text, { durable });
  if (!files.exists(dirname(place))) {
    files.ensureDirectory("mail.day-made", dirname(place));
    files.sync("mail.day-synced", rootPaths(root).messages);
  }
  if (durable) files.place("mail.placed", staged, place);
  else files.rename("mail.placed", staged, place);
}

/** Where the file that belongs at `place` is written first. */
export function stagedAt(files: Files, root: string, place: ContainedPath): ContainedPath {
  return pathInRoot(files, root, ["staging", basename(place)]);
}
