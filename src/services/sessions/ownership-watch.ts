import { basename } from "node:path";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import type { FolderWatch } from "../../system/watch.ts";
import type { sessionPaths } from "./roots.ts";

/**
 * Whether a gateway can still be found. No process can reach or end one whose session folder was
 * removed, or whose current-instance record is gone or another's: it must notice that itself.
 */
export interface OwnershipWatch {
  /** From now on what the record says is ours. */
  start(): void;
  /** True once it was found gone: nothing may be written there any more. */
  gone(): boolean;
  /** Runs `write`, which changes the record; not once it is gone. */
  rewrite(write: () => void): void;
  /**
   * The file at `path` in the folder of the record is ours too, as `write` has just written it: where
   * somebody changes or removes it, it is written again.
   */
  keep(path: string, write: () => void): void;
  stop(): void;
}

/** A change in the folder makes it look at once; this is for changes without a notice. */
const pollIntervalMs = 30_000;

/**
 * `onGone` is called once. One look reads one small file, and those that are kept. `onError`: of a file that
 * cannot be written again.
 */
export function createOwnershipWatch(deps: {
  files: Pick<Files, "read">;
  watch: FolderWatch;
  clock: Clock;
  paths: Pick<ReturnType<typeof sessionPaths>, "currentInstance" | "runRoot">;
  onGone: () => void;
  onError: (error: unknown) => void;
}): OwnershipWatch {
  const { files, watch, clock, paths, onGone, onError } = deps;
  let published: string | null = null;
  /** By path. `failed`: a file that cannot be written again is reported once. */
  const kept = new Map<string, { text: string | null; write: () => void; failed: boolean }>();
  let gone = false;
  let ends: (() => void)[] = [];

  function stop(): void {
    for (const end of ends) end();
    ends = [];
    published = null;
  }

  function look(): void {
    if (published === null) return;
    if (read(paths.currentInstance, published) === published) {
      restoreKept();
      return;
    }
    stop();
    gone = true;
    onGone();
  }

  function restoreKept(): void {
    for (const [path, one] of kept) {
      if (read(path, one.text) === one.text) continue;
      try {
        one.write();
        one.failed = false;
      } catch (error) {
        if (!one.failed) onError(error);
        one.failed = true;
      }
    }
  }

  /** A file that cannot be read now is as it was; one that has become a folder is gone. */
  function read(path: string, before: string | null): string | null {
    try {
      return files.read(path, { owner: "anyone" });
    } catch (error) {
      return storageFaultOf(error)?.fault === "folder" ? null : before;
    }
  }

  function lookLater(): void {
    const cancel = clock.after(pollIntervalMs, () => {
      look();
      if (published !== null) lookLater();
    });
    ends[1] = cancel;
  }

  return {
    start() {
      if (published !== null) return;
      published = files.read(paths.currentInstance, { owner: "anyone" });
      ends = [
        watch.watchFolder(paths.runRoot, (name) => {
          const ours = [paths.currentInstance, ...kept.keys()];
          if (name === null || ours.some((path) => name === basename(path))) look();
        }),
      ];
      lookLater();
      restoreKept();
    },
    gone: () => gone,
    rewrite(write) {
      look();
      if (gone) return;
      write();
      if (published !== null) published = files.read(paths.currentInstance, { owner: "anyone" });
    },
    keep(path, write) {
      kept.set(path, { text: files.read(path, { owner: "anyone" }), write, failed: false });
    },
    stop,
  };
}
