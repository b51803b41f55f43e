import type { AguiEvent } from "../../../../protocol/agui.ts";
import { type Clock, sleep, withinTime } from "../../../../system/clock.ts";

/** One block of a GUI stream. */
export type AguiItem = { item: "event"; event: AguiEvent } | { item: "heartbeat" };

/**
 * How often a silent stream sends a heartbeat: two such spans stay below the 5 s after which clients may give
 * up.
 */
export const beatMs = 2400;

/**
 * The events that `events` yields after each signal, and a heartbeat when it yields none for `beatMs`. It
 * returns true with the last event of the stream.
 */
export async function* paced(deps: {
  signals: AsyncIterable<void>;
  nowMs: () => number;
  events: () => Generator<AguiEvent, boolean>;
}): AsyncGenerator<AguiItem, boolean> {
  let lastSentMs = deps.nowMs();
  for await (const _ of deps.signals) {
    const found = deps.events();
    for (let next = found.next(); ; next = found.next()) {
      if (next.done) {
        if (next.value) return true;
        break;
      }
      yield { item: "event", event: next.value };
      lastSentMs = deps.nowMs();
    }
    if (deps.nowMs() - lastSentMs < beatMs) continue;
    yield { item: "heartbeat" };
    lastSentMs = deps.nowMs();
  }
  return false;
}

/** Calls the listener after each possible change. Returns the function that ends it. */
export type Subscribe = (listener: () => void) => () => void;

/**
 * Yields at once, then after each change that a subscription reports, and after `everyMs` without one, until
 * `signal` aborts. At least `pauseMs` pass between two yields; changes while the reader is busy become one. A
 * yield carries no data: the reader reads the state itself.
 */
export async function* debouncedSignals(deps: {
  subscriptions: readonly Subscribe[];
  clock: Clock;
  signal: AbortSignal;
  everyMs: number;
  pauseMs: number;
}): AsyncGenerator<void> {
  const { clock, signal, everyMs } = deps;
  let signalled = false;
  let wake = () => {};
  const onChange = () => {
    signalled = true;
    wake();
  };
  const ends = deps.subscriptions.map((subscribe) => subscribe(onChange));
  try {
    while (!signal.aborted) {
      signalled = false;
      yield;
      await sleep(clock, deps.pauseMs, signal);
      if (signalled || signal.aborted) continue;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await withinTime(clock, everyMs, woken, signal);
    }
  } finally {
    for (const end of ends) end();
  }
}
