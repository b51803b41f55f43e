import type { Files } from "../../system/files.ts";

/** An open resource of a file that another process may replace or remove. */
export interface ReopeningHandle<T> {
  /**
   * The resource of the present file, reopened when the file was replaced. Throws without a file.
   */
  present(): T;
  /** The open resource if its file is still at the path; null otherwise. Opens nothing. */
  unchanged(): T | null;
  /**
   * Runs `work` on the present resource, and again when the file was replaced meanwhile, so `work` must be
   * repeatable. Throws errors of `work`.
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
