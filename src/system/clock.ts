/**
 * The only access to time. Services take a `Clock`; tests drive a fake one, so that no test ever sleeps.
 */
export interface Clock {
  /** Wall-clock time, milliseconds since the Unix epoch. May jump: use it for records, not for intervals. */
  nowMs(): number;
  /** Monotonic milliseconds with fraction, origin unspecified. For intervals and deadlines. */
  monotonicMs(): number;
  /** Calls `run` once after `delayMs`. The returned function cancels; cancelling twice is safe. */
  after(delayMs: number, run: () => void): () => void;
}

/** The machine's clock. */
export function createClock(): Clock {
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, Math.max(0, delayMs));
      return () => clearTimeout(timer);
    },
  };
}

/**
 * Resolves after `delayMs`, or at once when `signal` aborts. Never rejects: the caller looks at the signal.
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/**
 * Calls `probe` at once and then every `intervalMs` until its result is not null, and returns that result.
 * Returns null after `limitMs` or when `signal` aborts. Rejects when `probe` does.
 */
export async function pollUntil<T>(
  clock: Clock,
  options: { intervalMs: number; limitMs: number; signal?: AbortSignal },
  probe: () => T | null | Promise<T | null>,
): Promise<T | null> {
  const deadlineMs = clock.monotonicMs() + options.limitMs;
  for (;;) {
    const result = await probe();
    if (result !== null) return result;
    if (options.signal?.aborted || clock.monotonicMs() >= deadlineMs) return null;
    await sleep(clock, options.intervalMs, options.signal);
  }
}

/** Resolves when the signal aborts, or at once when it is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** The value of `work`, or null when `limitMs` pass or `signal` aborts first. Rejects when `work` does. */
export function withinTime<T>(
  clock: Clock,
  limitMs: number,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T | null> {
  // Uses no AbortController, since lists call this hundreds of times.
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      end();
      resolve(null);
    };
    const cancel = clock.after(limitMs, giveUp);
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", giveUp);
    };
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error) => {
        end();
        reject(error);
      },
    );
    if (signal?.aborted) void Promise.resolve().then(giveUp);
    else signal?.addEventListener("abort", giveUp, { once: true });
  });
}

/** RFC 3339 with milliseconds and the offset `+00:00` (ruling 18). */
export function toTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, -1)}+00:00`;
}

/** The clock's present moment as a timestamp of the wire. */
export function timestampNow(clock: Clock): string {
  return toTimestamp(clock.nowMs());
}

/** `timestampNow` for bursts of calls within a millisecond, which share one text. */
export function createTimestamps(clock: Clock): () => string {
  let lastMs = Number.NaN;
  let last = "";
  return () => {
    const nowMs = clock.nowMs();
    if (nowMs !== lastMs) last = toTimestamp(nowMs);
    lastMs = nowMs;
    return last;
  };
}

/** Milliseconds since the epoch of a timestamp (`Z` or offset, any precision); null for other text. */
export function parseTimestamp(text: string): number | null {
  const value = Date.parse(text);
  return Number.isNaN(value) ? null : value;
}

/** Runs `task` after the input that is ready now was handled, so that work gathers into batches. */
export function afterThisTurn(task: () => void): void {
  setImmediate(task);
}
