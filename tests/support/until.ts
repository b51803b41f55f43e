import { setTimeout as pause } from "node:timers/promises";

const longestPauseMs = 100;

/** A limit for hangs only: generous for a slow machine, below a test's own limit so that `what` is told. */
const hangMs = 60_000;

/** What a look finds: anything but null, undefined and false. */
type Finding<T> = Exclude<T, null | undefined | false>;

function isFinding<T>(found: T): found is Finding<T> {
  return found !== null && found !== undefined && found !== false;
}

/**
 * What a service, a stub or a stream tells a test. A test that waits looks again at each value, and not in
 * between.
 */
export interface TestSignal<T> {
  /** Oldest first. */
  readonly values: readonly T[];
  /** For the one who tells: it is the listener or the callback. */
  readonly emit: (value: T) => void;
  /** Nothing more comes: who waits is refused. */
  end(): void;
  /**
   * Resolves with what `look` finds, now or after a later value. Throws after `timeoutMs` or at the end, with
   * `what` and the last values.
   */
  until<R>(what: string, look: () => R | Promise<R>, timeoutMs?: number): Promise<Finding<R>>;
  /** Resolves with the first value, past or to come, that is `wanted`; throws as `until`. */
  first(what: string, wanted: (value: T) => boolean, timeoutMs?: number): Promise<T>;
}

export function createTestSignal<T>(): TestSignal<T> {
  const values: T[] = [];
  let next = Promise.withResolvers<void>();
  let isOver = false;

  function wake(): void {
    next.resolve();
    next = Promise.withResolvers();
  }

  const last = () => JSON.stringify(values.slice(-5));

  async function until<R>(what: string, look: () => R | Promise<R>, timeoutMs = hangMs): Promise<Finding<R>> {
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), timeoutMs);
    try {
      for (;;) {
        const { promise: woken } = next;
        const found = await look();
        if (isFinding(found)) return found;
        if (isOver) throw new Error(`it ended before ${what}; the last values: ${last()}`);
        if ((await Promise.race([woken, late.promise])) === "late") {
          throw new Error(`not within ${timeoutMs} ms: ${what}; the last values: ${last()}`);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    values,
    emit(value) {
      values.push(value);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    until,
    async first(what, wanted, timeoutMs) {
      let checked = 0;
      const look = () => {
        while (checked < values.length) {
          const value = values[checked++] as T;
          if (wanted(value)) return { value };
        }
        return null;
      };
      return (await until(what, look, timeoutMs)).value;
    },
  };
}

/**
 * Resolves with what `look` finds. For facts of another process that sends no event; what tells is awaited by
 * a `TestSignal`. Looks every 10 ms (`leastPauseMs`), and a look that is a command again after as long as it
 * took. Throws with `what` after `timeoutMs`.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = hangMs,
  leastPauseMs = 10,
): Promise<Finding<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const beganMs = performance.now();
    const found = await look();
    if (isFinding(found)) return found;
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
