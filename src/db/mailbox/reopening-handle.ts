import type { Files } from "../../system/files.ts";

/** What is open on a file that another process may have replaced or removed meanwhile. */
export interface ReopeningHandle<T> {
  /**
   * What is open on the file as it is now: reopened when another file has taken its place. Throws when none
   * is.
   */
  present(): T;
  /** What is open, if it is still the file at the path; null otherwise. Opens nothing. */
  unchanged(): T | null;
  /**
   * Runs `work` on what is present, again if the file was replaced meanwhile: `work` must not mind. Throws
   * what `work` throws.
   */
  withRetry<R>(work: (open: T) => R): R;
  close(): void;
}

const attempts = 3;

export function createReopeningHandle<T extends { close(): void }>(options: {
  files: Files;
  path: string;
  open: () => T;
}): ReopeningHandle<T> {
  const { files, path, open } = options;
  let held: { value: T; identity: string } | null = null;

  function identity(): string {
    const found = files.stat(path);
    if (!found) throw Object.assign(new Error("the database file is gone"), { code: "SQLITE_CANTOPEN" });
    return found.identity;
  }

  function present(): T {
    const now = identity();
    if (held?.identity === now) return held.value;
    held?.value.close();
    held = null;
    held = { value: open(), identity: now };
    return held.value;
  }

  return {
    present,
    unchanged: () => (held && files.stat(path)?.identity === held.identity ? held.value : null),
    withRetry(work) {
      for (let attempt = 1; ; attempt++) {
        const result = work(present());
        if (held?.identity === identity()) return result;
        if (attempt === attempts) throw new Error("the database file is replaced again and again");
      }
    },
    close() {
      held?.value.close();
      held = null;
    },
  };
}
