import type { EventKind, GatewayEvent } from "../../protocol/events.ts";
import { afterThisTurn, type Clock, createTimestamps } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { type EventFileLimits, openEventFiles } from "./event-files.ts";

/**
 * The append-only history of a gateway. Written after the fact (a commit, a key sent), so a crash may lose
 * the line and never the fact. What could not be written is reported, kept, and written with the next event: of 1000
 * such events none is lost.
 */
export interface EventLog {
  /** `fields` must not hold a whole prompt, a mail body or a token. */
  append(kind: EventKind, fields?: Record<string, unknown>): void;
  /** Called in order, each event only after it is written: a crash never gives a published position again. */
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
  /**
   * The events on disk whose lines contain `text`, plain ASCII, newest first. What does not is passed over unread:
   * 20 MB take some 10 ms.
   */
  storedWith(text: string): Iterable<GatewayEvent>;
  /** Writes what has not been written yet. */
  flush(): void;
}

const maxHeld = 1000;
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
  const { files, path, onError, limits = defaultLimits } = deps;
  const timestamp = createTimestamps(deps.clock);
  const listeners = new Set<(event: GatewayEvent) => void>();
  const stored = openEventFiles({ files, path, limits });
  let seq = stored.lastSeq;
  /** Not on disk, oldest first; listeners know all but the last `untold`. */
  let unwritten: GatewayEvent[] = [];
  let untold = 0;

  function flush(): void {
    const [first] = unwritten;
    if (!first) return;
    const fresh = unwritten.slice(unwritten.length - untold);
    untold = 0;
    attempt(() => {
      const lines = unwritten.map((event) => `${JSON.stringify(sortKeys(event))}\n`);
      stored.append(lines.join(""), first.seq);
      unwritten = [];
    });
    unwritten = unwritten.slice(-maxHeld);
    for (const event of fresh) for (const listener of listeners) attempt(() => listener(event));
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
      const event: GatewayEvent = { ...fields, seq, kind, at_utc: timestamp() };
      unwritten.push(event);
      untold += 1;
      if (untold === 1) afterThisTurn(flush);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readEvents({ afterSeq, limit }) {
      flush();
      const events: GatewayEvent[] = [];
      if (limit > 0) {
        // A write that failed may have left whole lines of what is held.
        const heldFrom = unwritten[0]?.seq ?? Number.POSITIVE_INFINITY;
        for (const event of stored.after(afterSeq)) {
          if (event.seq >= heldFrom || events.push(event) >= limit) break;
        }
        const held = unwritten.filter((event) => event.seq > afterSeq);
        events.push(...held.slice(0, limit - events.length));
      }
      return { events, firstSeq: stored.firstSeq() ?? 0, lastSeq: seq };
    },
    storedWith: (text) => stored.containing(text),
    flush,
  };
}

function sortKeys(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const key of Object.keys(record).sort()) sorted[key] = record[key];
  return sorted;
}
