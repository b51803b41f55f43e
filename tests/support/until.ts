import { setTimeout as pause } from "node:timers/promises";

const longestPauseMs = 100;

/**
 * Resolves with the first value of `look` that is not null, undefined or false. For facts of another process
 * that sends no event. Looks every 10 ms (`leastPauseMs`), and a look that is a command again after as long
 * as it took. Throws with `what` after `timeoutMs`, which is for hangs only: generous for a slow machine,
 * below a test's own limit so that `what` is told.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 60_000,
  leastPauseMs = 10,
): Promise<Exclude<T, null | undefined | false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const beganMs = performance.now();
    const found = await look();
    if (found !== null && found !== undefined && found !== false) {
      return found as Exclude<T, null | undefined | false>;
    }
    const nowMs = performance.now();
    if (nowMs > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await pause(Math.max(leastPauseMs, Math.min(nowMs - beganMs, longestPauseMs)));
  }
}

/** So many milliseconds until `look` is true. */
export async function timeUntil(what: string, look: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  await until(what, look);
  return performance.now() - startMs;
}
