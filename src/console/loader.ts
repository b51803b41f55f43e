import { after } from "./browser.ts";

/**
 * Loads things by id, a few at a time, each at most once in `gapMs`: a burst of events about one agent is one request.
 */
export interface Loader {
  want(id: string): void;
  clear(): void;
}

export function createLoader(options: {
  concurrency: number;
  gapMs: number;
  load: (id: string) => Promise<void>;
}): Loader {
  const wanted = new Set<string>();
  const resting = new Map<string, () => void>();
  let running = 0;

  function next(): void {
    for (const id of wanted) {
      if (running >= options.concurrency) return;
      if (resting.has(id)) continue;
      wanted.delete(id);
      void run(id);
    }
  }

  async function run(id: string): Promise<void> {
    running += 1;
    resting.set(id, () => {});
    await options.load(id);
    running -= 1;
    resting.set(
      id,
      after(options.gapMs, () => {
        resting.delete(id);
        next();
      }),
    );
    next();
  }

  return {
    want(id) {
      wanted.add(id);
      next();
    },
    clear() {
      wanted.clear();
      for (const cancel of resting.values()) cancel();
      resting.clear();
    },
  };
}
