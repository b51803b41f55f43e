/** The value of `promise`, or null when `signal` aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(null);
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
