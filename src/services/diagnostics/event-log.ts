import type { GatewayEvent } from "../../protocol/events.ts";
import { afterThisTurn, type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { type EventFileLimits, openEventFiles } from "./event-files.ts";

/**
 * The append-only history of a gateway. Written after the fact stands (a commit, a key sent), so a crash may lose
 * the line and never the fact. A failed write is reported and loses nothing else.
 */
export interface EventLog {
  /** `fields` must not hold a whole prompt, a mail body or a token. */
  append(kind: string, fields?: Record<string, unknown>): void;
  /** Told in order, each once it is written, so that nobody knows a position that a crash could give again. */
  subscribe(listener: (event: GatewayEvent) => void): () => void;
}

/** Events after a position, oldest first. `firstSeq` and `lastSeq`: what is kept now; 0 when there is nothing. */
export interface EventPage {
  events: GatewayEvent[];
  firstSeq: number;
  lastSeq: number;
}

export interface StoredEventLog extends EventLog {
  /**
   * At most `limit` events whose `seq` is greater than `afterSeq` (0 for all). When `firstSeq` is greater than
   * `afterSeq + 1`, older ones are no longer kept.
   */
  readEvents(query: { afterSeq: number; limit: number }): EventPage;
  /** Writes what has not been written yet. */
  flush(): void;
}

const defaultLimits: EventFileLimits = { maxBytes: 16 * 1024 * 1024, count: 4 };

/**
 * Opens the history at `path` (events.jsonl) and goes on after its last event. Events of one turn of the event loop
 * share one write.
 */
export function createEventLog(deps: {
  files: Files;
  clock: Clock;
  path: string;
  onError: (error: unknown) => void;
  limits?: EventFileLimits;
}): StoredEventLog {
  const { files, clock, path, onError, limits = defaultLimits } = deps;
  const listeners = new Set<(event: GatewayEvent) => void>();
  const stored = openEventFiles({ files, path, limits });
  let seq = stored.lastSeq;
  let unwritten: GatewayEvent[] = [];

  function flush(): void {
    const events = unwritten;
    unwritten = [];
    const [first] = events;
    if (!first) return;
    attempt(() =>
      stored.append(events.map((event) => `${JSON.stringify(sortKeys(event))}\n`).join(""), first.seq),
    );
    for (const event of events) for (const listener of listeners) attempt(() => listener(event));
  }

  function attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      onError(error);
    }
  }

  return {
    append(kind, fields = {}) {
      seq += 1;
      const event: GatewayEvent = { ...fields, seq, kind, at_utc: timestampNow(clock) };
      if (unwritten.push(event) === 1) afterThisTurn(flush);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readEvents({ afterSeq, limit }) {
      flush();
      const events: GatewayEvent[] = [];
      if (limit > 0) {
        for (const event of stored.after(afterSeq)) if (events.push(event) >= limit) break;
      }
      return { events, firstSeq: stored.firstSeq() ?? 0, lastSeq: seq };
    },
    flush,
  };
}

function sortKeys<T extends Record<string, unknown>>(record: T): T {
  return Object.fromEntries(Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1))) as T;
}
