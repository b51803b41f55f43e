import { after } from "../browser/browser.ts";

/**
 * Loads things by id, a few requests at a time, each thing at most once in `gapMs`: a burst of events about
 * one agent is one request, and so is one about many where a request takes many ids.
 */
interface Loader {
  want(...ids: readonly string[]): void;
  clear(): void;
}

export function createLoader(options: {
  /** Requests under way. */
  concurrency: number;
  gapMs: number;
  /** Ids that one request takes; 1 when left out. */
  maxIds?: number;
  load: (...ids: string[]) => Promise<void>;
}): Loader {
  const { maxIds = 1 } = options;
  const wanted = new Set<string>();
  const resting = new Map<string, () => void>();
  let running = 0;

  function next(): void {
    while (running < options.concurrency) {
      const ids = [...wanted].filter((id) => !resting.has(id)).slice(0, maxIds);
      if (ids.length === 0) return;
      void run(ids);
    }
  }

  async function run(ids: string[]): Promise<void> {
    running += 1;
    for (const id of ids) {
      wanted.delete(id);
      resting.set(id, () => {});
    }
    await options.load(...ids);
    running -= 1;
    const cancel = after(options.gapMs, () => {
      for (const id of ids) resting.delete(id);
      next();
    });
    for (const id of ids) resting.set(id, cancel);
    next();
  }

  return {
    want(...ids) {
      for (const id of ids) wanted.add(id);
      next();
    },
    clear() {
      wanted.clear();
      for (const cancel of resting.values()) cancel();
      resting.clear();
    },
  };
}
