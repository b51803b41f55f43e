import { type Clock, sleep } from "../../../system/clock.ts";
import type { Locks } from "../../../system/locks.ts";

/**
 * Mutual exclusion of all who may crash one tmux server: versions 3.3a to 3.5a at least end with a
 * segmentation fault when a session begins or ends, another window becomes current, a pane's copy mode begins
 * or ends or a client leaves in the moment in which a control client introduces itself (tmux/tmux#4980); from
 * 3.4 also when a paste buffer comes or goes. Each of these, and the attach, is done by the holder of the
 * mutex. What a person does by hand is not covered.
 */
export interface TmuxMutex {
  /**
   * Resolves with how to give it back (twice is safe). Never rejects, since a crash is only likely without
   * it: goes on without where the file cannot or may not be made, when it cannot be had within `waitMs`
   * (default 2 s), and when `signal` aborts. `brief`: for what takes a millisecond and is not asked for again
   * at once. It does not queue, at half the cost.
   */
  take(options?: { waitMs?: number; signal?: AbortSignal; brief?: boolean }): Promise<() => void>;
}

const LONGEST_WAIT_MS = 2000;
/** Between two tries of the one who is next, and of those behind. */
const NEXT_RETRY_MS = 1;
const BEHIND_RETRY_MS = 10;

/**
 * `path`: absolute, of the server's socket. The locks are files beside it: one server, one mutex. They are
 * made only while `mayLock` returns true.
 */
export function createTmuxMutex(
  deps: { locks: Pick<Locks, "tryTake">; clock: Clock },
  path: string,
  mayLock: () => boolean = () => true,
): TmuxMutex {
  const { locks, clock } = deps;

  /** Null when it could not be had in time, or nobody wants it any more. */
  async function lock(suffix: string, retryMs: number, deadlineMs: number, signal?: AbortSignal) {
    for (;;) {
      const taken = locks.tryTake(`${path}.${suffix}`);
      if (taken || signal?.aborted || clock.monotonicMs() >= deadlineMs) return taken;
      await sleep(clock, retryMs, signal);
    }
  }

  return {
    async take({ waitMs = LONGEST_WAIT_MS, signal, brief = false } = {}) {
      const deadlineMs = clock.monotonicMs() + waitMs;
      try {
        if (!mayLock()) return () => {};
        // FIFO: a holder that releases the mutex and wants it again waits behind the others.
        const next = brief ? null : await lock("svc-next", BEHIND_RETRY_MS, deadlineMs, signal);
        try {
          const mine = await lock("svc-lock", NEXT_RETRY_MS, deadlineMs, signal);
          return () => mine?.release();
        } finally {
          next?.release();
        }
      } catch {
        return () => {};
      }
    },
  };
}
