import { maxFollowers } from "../../protocol/events.ts";
import type { StreamItem } from "../../services/diagnostics/event-stream.ts";
import { ServiceError } from "../../system/errors.ts";

/**
 * An answer of server-sent events, one item for each pull of the reader: `id` is the event's position,
 * `event` its kind, `data` the whole event on one line. A heartbeat is a comment, which clients ignore.
 */
export function toServerSentEvents(request: Request, items: AsyncGenerator<StreamItem>): Response {
  return streamOf(items, renderItem, { method: request.method });
}

/**
 * An answer of server-sent events from items that `render` turns into blocks of the stream. `onCancel` is
 * called when the reader leaves; it ends items that wait. The `method` HEAD gets only the headers.
 */
export function streamOf<Item>(
  items: AsyncGenerator<Item>,
  render: (item: Item) => string,
  options: { headers?: Record<string, string>; onCancel?: () => void; method?: string } = {},
): Response {
  const headers = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    ...options.headers,
  };
  // For HEAD the framework would read the body to its end, and a stream has no end.
  if (options.method === "HEAD") {
    void items.return(undefined);
    return new Response(null, { headers });
  }
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(": connected\n\n"));
      },
      async pull(controller) {
        const next = await items.next();
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(render(next.value)));
      },
      async cancel() {
        options.onCancel?.();
        await items.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

function renderItem(item: StreamItem): string {
  return item.item === "heartbeat" ? heartbeat : renderEvent(String(item.event.seq), item.event);
}

export const heartbeat = ": heartbeat\n\n";

/** One event as a block of the stream. A line break in the kind would end the field. */
export function renderEvent(id: string, event: { kind: string }): string {
  return `id: ${id}\nevent: ${event.kind.replace(/[\r\n]/g, " ")}\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * The position from which a reconnecting client resumes. The header Last-Event-ID precedes the query. Null
 * without a position; 0, which is before all events, for an id of another history, such as a coordination
 * server's.
 */
export function resumePosition(request: Request, after: number | undefined): number | null {
  const header = request.headers.get("last-event-id") ?? "";
  if (/^\d+$/.test(header)) return Number(header);
  return after ?? (header === "" ? null : 0);
}

/** Limits the streams that readers of one server follow at the same time. */
export interface Followers {
  /**
   * Opens the items with a signal that aborts when the reader has left. Throws `unavailable` at the limit.
   * The place is free again when the reader has left, the items have ended, or the caller returned the
   * generator before its first item.
   */
  admit<Item>(left: AbortSignal, open: (left: AbortSignal) => AsyncGenerator<Item>): AsyncGenerator<Item>;
}

export function createFollowers(): Followers {
  let followers = 0;
  return {
    admit(left, open) {
      if (followers >= maxFollowers) {
        throw new ServiceError(
          "unavailable",
          `${maxFollowers} streams of events are followed already; end one first`,
        );
      }
      followers += 1;
      const ended = new AbortController();
      const end = () => {
        if (ended.signal.aborted) return;
        followers -= 1;
        left.removeEventListener("abort", end);
        ended.abort();
      };
      if (left.aborted) end();
      else left.addEventListener("abort", end, { once: true });
      return callAtEnd(open(ended.signal), end);
    },
  };
}

/** `items`; calls `end` when they end, throw or are returned. */
function callAtEnd<Item>(items: AsyncGenerator<Item>, end: () => void): AsyncGenerator<Item> {
  const last = async (step: Promise<IteratorResult<Item>>) => {
    try {
      const result = await step;
      if (result.done) end();
      return result;
    } catch (error) {
      end();
      throw error;
    }
  };
  const watched: AsyncGenerator<Item> = {
    next: () => last(items.next()),
    return: (value) => {
      end();
      return items.return(value);
    },
    throw: (error) => last(items.throw(error)),
    [Symbol.asyncIterator]: () => watched,
    [Symbol.asyncDispose]: async () => void (await watched.return(undefined)),
  };
  return watched;
}
