/**
 * Runs tasks one after another in the order asked. A task that throws rejects its own caller only.
 */
export interface Exclusive {
  run<T>(task: () => Promise<T>): Promise<T>;
  /** True while a task runs or waits. */
  busy(): boolean;
}

export function createExclusive(): Exclusive {
  let tail: Promise<unknown> = Promise.resolve();
  let open = 0;
  return {
    run(task) {
      open += 1;
      const result = tail.then(task, task).finally(() => {
        open -= 1;
      });
      tail = result.catch(() => {});
      return result;
    },
    busy: () => open > 0,
  };
}
