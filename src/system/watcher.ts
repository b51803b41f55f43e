import { watch } from "node:fs";

/** The only door to notices of the file system. A notice carries no truth: whoever gets one looks again. */
export interface Watcher {
  /**
   * Calls `notice` soon after something in `folder` (not below it) changed, perhaps once for several changes. A folder
   * that cannot be watched gives no notices: callers look now and then anyway. Returns the function that ends it.
   */
  watch(folder: string, notice: () => void): () => void;
}

export function createWatcher(): Watcher {
  return {
    watch(folder, notice) {
      try {
        const watching = watch(folder, { persistent: false }, () => notice());
        watching.on("error", () => watching.close());
        return () => watching.close();
      } catch {
        return () => {};
      }
    },
  };
}
