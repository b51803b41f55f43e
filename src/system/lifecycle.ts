import type { Clock } from "./clock.ts";

/**
 * A long-running part. `start` twice and `stop` unstarted are safe; `stop` waits for work in flight and is
 * idempotent.
 */
export interface Lifecycle {
  start(): void;
  stop(): Promise<void>;
}

/**
 * A level-triggered loop: `turn` reads the present state and acts; `wake` starts the next turn sooner and
 * carries no information. Wakes during a turn cause exactly one further turn. An error of a turn is reported
 * once for each distinct message in a row, and the loop continues after `retryMs`. `turn` returns the
 * milliseconds until the next turn, or null to sleep until a wake.
 */
export interface Loop extends Lifecycle {
  wake(): void;
}

export function createLoop(options: {
  clock: Clock;
  turn: (signal: AbortSignal) => Promise<number | null>;
  onError: (error: unknown) => void;
  retryMs?: number;
}): Loop {
  const { clock, turn, onError, retryMs = 1000 } = options;
  let running: Promise<void> | null = null;
  let abort = new AbortController();
  let woken = false;
  let endPause: (() => void) | null = null;

  async function pause(delayMs: number | null): Promise<void> {
    if (woken || delayMs === 0 || abort.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = delayMs === null ? () => {} : clock.after(delayMs, resolve);
      endPause = () => {
        cancel();
        resolve();
      };
    });
    endPause = null;
  }

  async function run(): Promise<void> {
    let lastMessage: string | null = null;
    while (!abort.signal.aborted) {
      woken = false;
      let delayMs: number | null;
      try {
        delayMs = await turn(abort.signal);
        lastMessage = null;
      } catch (error) {
        const message = String(error);
        if (message !== lastMessage) onError(error);
        lastMessage = message;
        delayMs = retryMs;
      }
      await pause(delayMs);
    }
  }

  return {
    start() {
      if (running) return;
      abort = new AbortController();
      running = run();
    },
    wake() {
      woken = true;
      endPause?.();
    },
    async stop() {
      if (!running) return;
      abort.abort();
      endPause?.();
      await running;
      running = null;
    },
  };
}

/** The value of `promise`, or null when `signal` aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(null);
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
