import { type FSWatcher, watch } from "node:fs";

/**
 * Reports that something in a folder may have changed. A hint, never the truth: events may be missed, doubled
 * or late, so a listener looks for itself and also looks now and then unasked.
 */
export interface FolderWatch {
  /**
   * Calls `listener` with the name inside `folder` (null when unknown) after a change in it, not below it. A
   * folder that is absent or cannot be watched is silent. Returns the function that ends it; ending twice is
   * safe.
   */
  watchFolder(folder: string, listener: (name: string | null) => void): () => void;
}

export function createFolderWatch(): FolderWatch {
  return {
    watchFolder(folder, listener) {
      let watcher: FSWatcher | null = null;
      try {
        watcher = watch(folder, { persistent: false }, (_kind, name) => listener(name));
        watcher.on("error", () => watcher?.close());
      } catch {
        return () => {};
      }
      return () => watcher?.close();
    },
  };
}
