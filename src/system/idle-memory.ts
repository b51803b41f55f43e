import type { Clock } from "./clock.ts";

/** Gives back memory that only past work needed, once nothing has happened for a while. */
export interface IdleMemory {
  /** Something happened. Cheap: may be called for every change. */
  touch(): void;
  /** Nothing is given back any more. Idempotent. */
  stop(): void;
}

/** The start is over by then; its code and its garbage are a quarter of a gateway's own memory. */
const afterStartMs = 3000;
/** What ran lately is likely to run again, and code that was dropped is compiled anew. */
const quietMs = 60_000;

/**
 * Calls `release` when the start is over, and again whenever there was something and then nothing for a minute. One
 * timer at most, and none while nothing happens.
 */
export function createIdleMemory(deps: { clock: Clock; release?: () => void }): IdleMemory {
  const { clock, release = Bun.shrink } = deps;
  let touchedMs = clock.monotonicMs();
  let cancel: (() => void) | null = clock.after(afterStartMs, due);
  let stopped = false;

  function due(): void {
    release();
    cancel = null;
  }

  function whenQuiet(): void {
    const leftMs = touchedMs + quietMs - clock.monotonicMs();
    // One timer that looks again is cheaper than one that every touch sets anew.
    if (leftMs > 0) cancel = clock.after(leftMs, whenQuiet);
    else due();
  }

  return {
    touch() {
      touchedMs = clock.monotonicMs();
      if (!stopped) cancel ??= clock.after(quietMs, whenQuiet);
    },
    stop() {
      stopped = true;
      cancel?.();
      cancel = null;
    },
  };
}
