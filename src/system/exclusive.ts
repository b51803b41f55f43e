/**
 * Runs tasks one after another in the order asked. A task that throws rejects its own caller only.
 */
export interface Exclusive {
  run<T>(task: () => Promise<T>): Promise<T>;
}

export function createExclusive(): Exclusive {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const result = tail.then(task, task);
      tail = result.catch(() => {});
      return result;
    },
  };
}
