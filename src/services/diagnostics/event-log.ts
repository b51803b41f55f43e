import type { GatewayEvent } from "../../protocol/events.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";

/**
 * The append-only history of a gateway, `events.jsonl`. Written after the fact stands (a commit, a key sent), so a
 * crash may lose the line and never the fact. A failed append is reported and loses nothing else.
 */
export interface EventLog {
  /** `fields` must not hold a whole prompt, a mail body or a token. */
  append(kind: string, fields?: Record<string, unknown>): void;
  subscribe(listener: (event: GatewayEvent) => void): () => void;
}

export function createEventLog(deps: {
  files: Files;
  clock: Clock;
  path: string;
  onError: (error: unknown) => void;
}): EventLog {
  const listeners = new Set<(event: GatewayEvent) => void>();
  return {
    append(kind, fields = {}) {
      const event: GatewayEvent = { ...fields, kind, at_utc: timestampNow(deps.clock) };
      try {
        deps.files.append("file:events", deps.path, `${JSON.stringify(sortKeys(event))}\n`);
      } catch (error) {
        deps.onError(error);
      }
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function sortKeys<T extends Record<string, unknown>>(record: T): T {
  return Object.fromEntries(Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1))) as T;
}
