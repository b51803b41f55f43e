import { afterThisTurn } from "../system/clock.ts";

/**
 * Gathers concurrent writes into one transaction: many callers share one sync, and each is answered after it.
 * A batch ends at the first turn of the event loop without a new write; a single caller does not wait.
 * `commit` writes the whole batch, or throws and writes nothing. When a batch throws, each item is written
 * alone, so that an invalid row fails only its caller. Without it 64 callers get an eighth of the rate, and 8
 * a third (decision 143).
 */
interface GroupCommit<Item, Result> {
  add(item: Item): Promise<Result>;
}

/** Maximum size of a batch, so that a stream of callers cannot delay the sync. */
const maxGathered = 256;

export function createGroupCommit<Item, Result>(
  commit: (items: readonly Item[]) => readonly Result[],
): GroupCommit<Item, Result> {
  interface Waiter {
    item: Item;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  }
  let batch: Waiter[] = [];

  function settle(waiters: readonly Waiter[]): void {
    try {
      const results = commit(waiters.map((waiter) => waiter.item));
      for (const [index, waiter] of waiters.entries()) waiter.resolve(results[index] as Result);
    } catch (error) {
      if (waiters.length === 1) waiters[0]?.reject(error);
      else for (const waiter of waiters) settle([waiter]);
    }
  }

  /**
   * While others still come, one more turn of the event loop is cheaper than one more sync: without it 8
   * callers get 23 % less.
   */
  function gather(known: number): void {
    if (batch.length > known && batch.length > 1 && batch.length < maxGathered) {
      const size = batch.length;
      afterThisTurn(() => gather(size));
      return;
    }
    const waiters = batch;
    batch = [];
    settle(waiters);
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        batch.push({ item, resolve, reject });
        if (batch.length === 1) afterThisTurn(() => gather(0));
      }),
  };
}
