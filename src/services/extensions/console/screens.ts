import type { ScreenEvent } from "../../../protocol/console.ts";
import { type Clock, sleep, withinTime } from "../../../system/clock.ts";
import { type Shown, updateSince } from "./picture.ts";

/** Where the picture of one agent comes from. It is read while somebody is subscribed. */
export interface ScreenSource {
  /** Null until something is known. */
  shown(): Shown | null;
  subscribe(wake: () => void): () => void;
}

export type ScreenItem = { item: "screen"; event: ScreenEvent } | { item: "heartbeat" };

const heartbeatMs = 15_000;

/**
 * What changes on the screens of `sources`, until `signal` aborts. A reader gets the newest picture of each,
 * at most one in `gapMs`, however slowly it reads: what lay between is never kept. While nothing changes
 * nothing is sent but a heartbeat.
 */
export async function* followScreens(options: {
  clock: Clock;
  sources: readonly ScreenSource[];
  gapMs: number;
  signal: AbortSignal;
}): AsyncGenerator<ScreenItem> {
  const { clock, sources, gapMs, signal } = options;
  const seen = new Map<ScreenSource, number>();
  const changed = new Set(sources);
  let wake = () => {};
  const leave = sources.map((source) =>
    source.subscribe(() => {
      changed.add(source);
      wake();
    }),
  );
  try {
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      for (const source of [...changed]) {
        changed.delete(source);
        const shown = source.shown();
        const event = shown && updateSince(shown, seen.get(source) ?? null);
        if (!event || !shown) continue;
        seen.set(source, shown.revision);
        yield { item: "screen", event };
        if (signal.aborted) return;
      }
      await sleep(clock, Math.max(0, startedMs + gapMs - clock.monotonicMs()), signal);
      if (changed.size > 0 || signal.aborted) continue;
      const woken = new Promise<boolean>((resolve) => {
        wake = () => resolve(true);
      });
      const some = await withinTime(clock, heartbeatMs, woken, signal);
      if (!some && !signal.aborted) yield { item: "heartbeat" };
    }
  } finally {
    for (const end of leave) end();
  }
}
