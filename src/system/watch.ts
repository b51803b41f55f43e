import { type FSWatcher, watch } from "node:fs";

/**
 * Reports possible changes in a folder. It is a hint: events may be missed, doubled or late, so a listener
 * reads the folder itself and also polls.
 */
export interface FolderWatch {
  /**
   * Calls `listener` after a change in `folder`, not below it, with the changed name (null when unknown). A
   * folder that is absent or cannot be watched reports nothing. Returns the function that ends the watch;
   * ending twice is safe.
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
