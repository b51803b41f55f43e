import { drainMicrotasks } from "bun:jsc";
import type { Clock } from "../../src/system/clock.ts";

/** The one time of a simulated world. Nothing happens between two timers. */
export interface SimClock {
  /** Milliseconds since the world began. */
  nowMs(): number;
  /** A clock as one process has it: its timers are dropped once `alive` says no. */
  view(alive: () => boolean): Clock;
  /** For the world itself. */
  after(delayMs: number, run: () => void): void;
  /** Everybody stands still for so long, as when a disk is slow: what falls due meanwhile comes late. */
  stall(ms: number): void;
  /** The wall clock is set by so much; the monotonic one goes on. */
  jumpWall(ms: number): void;
  /**
   * Runs what falls due until then, and what that causes: promises, and work put off to the end of a turn of
   * the event loop, which is this loop as long as it runs.
   */
  runUntil(ms: number): void;
}

interface Timer {
  dueMs: number;
  order: number;
  run: (() => void) | null;
}

/** 2026-01-05T08:00:00Z, a Monday. */
const wallStartMs = Date.UTC(2026, 0, 5, 8);
/** `onThrow` gets what a timer or a task put off threw; nobody else would. */
export function createSimClock(onThrow: (error: unknown) => void): SimClock {
  const heap = createHeap();
  let now = 0;
  let order = 0;
  let wallOffset = 0;

  function schedule(delayMs: number, run: () => void): Timer {
    const timer = { dueMs: now + Math.max(0, delayMs), order: order++, run };
    heap.push(timer);
    return timer;
  }

  const tasks: (() => void)[] = [];
  const putOff = ((task: () => void) => {
    tasks.push(task);
  }) as unknown as typeof setImmediate;

  function attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      onThrow(error);
    }
  }

  function settle(): void {
    drainMicrotasks();
    while (tasks.length > 0) {
      for (const task of tasks.splice(0)) {
        attempt(task);
        drainMicrotasks();
      }
    }
  }

  return {
    nowMs: () => now,
    view: (alive) => ({
      nowMs: () => Math.floor(wallStartMs + now + wallOffset),
      monotonicMs: () => now,
      after(delayMs, run) {
        if (!alive()) return () => {};
        const timer = schedule(delayMs, () => {
          if (alive()) run();
        });
        return () => {
          timer.run = null;
        };
      },
    }),
    after: (delayMs, run) => void schedule(delayMs, run),
    stall(ms) {
      now += ms;
    },
    jumpWall(ms) {
      wallOffset += ms;
    },
    runUntil(ms) {
      const real = globalThis.setImmediate;
      globalThis.setImmediate = putOff;
      try {
        settle();
        for (let first = heap.first(); first && first.dueMs <= ms; first = heap.first()) {
          heap.pop();
          if (!first.run) continue;
          now = Math.max(now, first.dueMs);
          attempt(first.run);
          settle();
        }
        now = Math.max(now, ms);
      } finally {
        globalThis.setImmediate = real;
      }
    },
  };
}

/** Timers by due time, then by the order in which they were set. */
function createHeap() {
  const items: Timer[] = [];
  const before = (left: number, right: number) => {
    const [a, b] = [items[left], items[right]];
    return a !== undefined && b !== undefined && (a.dueMs - b.dueMs || a.order - b.order) < 0;
  };
  const swap = (left: number, right: number) => {
    const [a, b] = [items[left], items[right]];
    if (a && b) [items[left], items[right]] = [b, a];
  };
  return {
    first: (): Timer | undefined => items[0],
    push(timer: Timer): void {
      let at = items.push(timer) - 1;
      while (at > 0 && before(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop(): void {
      const last = items.pop();
      if (!last || items.length === 0) return;
      items[0] = last;
      for (let at = 0; ; ) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        const least = before(right, left) ? right : left;
        if (!before(least, at)) return;
        swap(at, least);
        at = least;
      }
    },
  };
}
