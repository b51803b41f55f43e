import type { Clock } from "../../src/system/clock.ts";
import { createTestSignal } from "./until.ts";

export interface FakeClock extends Clock {
  /**
   * Moves time on and runs what falls due, in order, letting promises settle after each. Timers set on the
   * way run too when they fall due within the span.
   */
  advance(ms: number): Promise<void>;
  /** Timers set and not yet due or cancelled. */
  pending(): number;
  /** Resolves when a timer is set: the one loop of this clock has ended its turn, and what that did is done. */
  atRest(): Promise<unknown>;
}

/** A clock that stands still until told. Starts at 2026-01-01T00:00:00Z. */
export function createFakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startMs;
  let order = 0;
  const timers = new Map<number, { dueMs: number; run: () => void }>();
  const timerSet = createTestSignal<void>();
  return {
    nowMs: () => now,
    monotonicMs: () => now - startMs,
    after(delayMs, run) {
      const id = order++;
      timers.set(id, { dueMs: now + Math.max(0, delayMs), run });
      timerSet.emit();
      return () => timers.delete(id);
    },
    pending: () => timers.size,
    atRest: () => timerSet.until("a timer is set", () => timers.size > 0),
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        const due = [...timers]
          .filter(([, timer]) => timer.dueMs <= end)
          .sort(([a, left], [b, right]) => left.dueMs - right.dueMs || a - b)[0];
        if (!due) break;
        timers.delete(due[0]);
        now = Math.max(now, due[1].dueMs);
        due[1].run();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}

/** Lets everything that needs no time happen: promises, and work put off to the end of the turn. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
