import { afterThisTurn } from "../system/clock.ts";

/**
 * Gathers the writes of one turn of the event loop into one transaction: many callers share one sync to disk,
 * and each is answered only after that sync. `commit` writes the whole batch or throws with nothing written.
 * When a batch throws, each item is tried alone, so that one bad row fails only its own caller.
 */
export interface GroupCommit<Item, Result> {
  add(item: Item): Promise<Result>;
}

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

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        batch.push({ item, resolve, reject });
        if (batch.length > 1) return;
        afterThisTurn(() => {
          const waiters = batch;
          batch = [];
          settle(waiters);
        });
      }),
  };
}
