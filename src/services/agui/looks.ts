import { type Clock, sleep } from "../../system/clock.ts";

/** Calls the listener whenever what is watched may have changed; returns the function that ends it. */
export type Bell = (listener: () => void) => () => void;

/**
 * Yields at once, then whenever a bell has rung, and after `everyMs` of silence, until `signal` aborts. Between two
 * looks `pauseMs` pass, however often the bells ring; what rings while the reader is busy is one look. A bell tells no
 * truth: the reader looks for itself.
 */
export async function* looks(deps: {
  bells: readonly Bell[];
  clock: Clock;
  signal: AbortSignal;
  everyMs: number;
  pauseMs: number;
}): AsyncGenerator<void> {
  const { clock, signal, everyMs } = deps;
  let rung = false;
  let wake = () => {};
  const ring = () => {
    rung = true;
    wake();
  };
  const ends = deps.bells.map((bell) => bell(ring));
  try {
    while (!signal.aborted) {
      rung = false;
      yield;
      await sleep(clock, deps.pauseMs, signal);
      if (rung || signal.aborted) continue;
      const nap = new AbortController();
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([woken, sleep(clock, everyMs, AbortSignal.any([nap.signal, signal]))]);
      nap.abort();
    }
  } finally {
    for (const end of ends) end();
  }
}
