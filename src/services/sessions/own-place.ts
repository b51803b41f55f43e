import { basename } from "node:path";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import type { FolderWatch } from "../../system/watch.ts";
import type { sessionPaths } from "./roots.ts";

/**
 * Whether a gateway still stands where others look for it. Nobody can reach or end one whose session folder was
 * removed, or whose current-instance record is gone or another's: it must notice that itself.
 */
export interface OwnPlace {
  /** From now on what the record says is ours. */
  start(): void;
  /** True once it was found gone: nothing may be written there any more. */
  gone(): boolean;
  /** Runs `write`, which changes the record; not once it is gone. */
  rewrite(write: () => void): void;
  stop(): void;
}

/** A change in the folder makes it look at once; this is for changes that were not told. */
const lookEveryMs = 30_000;

/** `onGone` is called once. One look reads one small file. */
export function createOwnPlace(deps: {
  files: Pick<Files, "read">;
  watch: FolderWatch;
  clock: Clock;
  paths: Pick<ReturnType<typeof sessionPaths>, "currentInstance" | "runRoot">;
  onGone: () => void;
}): OwnPlace {
  const { files, watch, clock, paths, onGone } = deps;
  let published: string | null = null;
  let gone = false;
  let ends: (() => void)[] = [];

  function stop(): void {
    for (const end of ends) end();
    ends = [];
    published = null;
  }

  function look(): void {
    if (published === null || read() === published) return;
    stop();
    gone = true;
    onGone();
  }

  /** A file that cannot be read now is not gone; one that has become a folder is. */
  function read(): string | null {
    try {
      return files.read(paths.currentInstance);
    } catch (error) {
      return storageFaultOf(error)?.fault === "folder" ? null : published;
    }
  }

  function lookLater(): void {
    const cancel = clock.after(lookEveryMs, () => {
      look();
      if (published !== null) lookLater();
    });
    ends[1] = cancel;
  }

  return {
    start() {
      if (published !== null) return;
      published = files.read(paths.currentInstance);
      ends = [
        watch.watchFolder(paths.runRoot, (name) => {
          if (name === null || name === basename(paths.currentInstance)) look();
        }),
      ];
      lookLater();
    },
    gone: () => gone,
    rewrite(write) {
      look();
      if (gone) return;
      write();
      if (published !== null) published = files.read(paths.currentInstance);
    },
    stop,
  };
}
