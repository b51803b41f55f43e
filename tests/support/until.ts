import { setTimeout as pause } from "node:timers/promises";

/**
 * Resolves with the first value of `look` that is not null, undefined or false. For facts of another process
 * that sends no event; looks every 10 ms and throws with `what` after `timeoutMs`.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<Exclude<T, null | undefined | false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) {
      return found as Exclude<T, null | undefined | false>;
    }
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await pause(10);
  }
}
