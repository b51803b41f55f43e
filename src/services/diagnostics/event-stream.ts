import type { GatewayEvent } from "../../protocol/events.ts";
import { type Clock, withinTime } from "../../system/clock.ts";
import type { StoredEventLog } from "./event-log.ts";

export type StreamItem = { item: "event"; event: GatewayEvent } | { item: "heartbeat" };

export type EventStream = ReturnType<typeof createEventStream>;

const pageSize = 200;

export function createEventStream(deps: {
  events: Pick<StoredEventLog, "readEvents" | "subscribe">;
  clock: Clock;
  heartbeatMs?: number;
  /** A reader is given this event. */
  onGiven?: (event: GatewayEvent) => void;
}) {
  const { events, clock, heartbeatMs = 15_000, onGiven = () => {} } = deps;
  const closed = new AbortController();

  async function* follow(options: {
    afterSeq: number | null;
    signal: AbortSignal;
  }): AsyncGenerator<StreamItem> {
    const signal = AbortSignal.any([options.signal, closed.signal]);
    const { lastSeq } = events.readEvents({ afterSeq: 0, limit: 0 });
    let at = options.afterSeq ?? lastSeq;
    if (at > lastSeq) at = 0;
    let wake = () => {};
    let missed = false;
    const unsubscribe = events.subscribe(() => {
      missed = true;
      wake();
    });
    try {
      while (!signal.aborted) {
        missed = false;
        const page = events.readEvents({ afterSeq: at, limit: pageSize });
        for (const event of page.events) {
          if (signal.aborted) return;
          at = event.seq;
          onGiven(event);
          yield { item: "event", event };
        }
        if (page.events.length > 0 || missed) continue;
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await withinTime(clock, heartbeatMs, woken, signal);
        if (!missed && !signal.aborted) yield { item: "heartbeat" };
      }
    } finally {
      unsubscribe();
    }
  }

  return {
    /**
     * Every event after `afterSeq` (null: only those to come; one that lies beyond the history, as of a log
     * that was lost: all that is kept), oldest first, and a heartbeat in each silent span of `heartbeatMs`,
     * until `signal` aborts. The reader sets the pace: one that stops reading costs nothing, since what it has
     * missed is read from the file.
     */
    follow /** Ends every stream, so that a stopping server need not wait for its readers. */,
    close: (): void => closed.abort(),
  };
}
