import { maxFollowers } from "../../protocol/events.ts";
import type { StreamItem } from "../../services/diagnostics/event-stream.ts";
import { ServiceError } from "../../system/errors.ts";

/**
 * Server-sent events as bytes, one item for each pull of the reader: `id` is the event's position, `event`
 * its kind, `data` the whole event on one line. A heartbeat is a comment, which clients ignore.
 */
export function toServerSentEvents(request: Request, items: AsyncGenerator<StreamItem>): Response {
  return streamOf(items, renderItem, { method: request.method });
}

/**
 * The same of any items that `render` turns into whole blocks of the stream. `onCancel` is called when the
 * reader leaves, which wakes items that wait for nothing else. The `method` HEAD gets the headers alone.
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
  // The framework would read a body to its end, and this one has none.
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

/** One event as a block of the stream. A kind is a word of ours; a line break in it would end the field. */
export function renderEvent(id: string, event: { kind: string }): string {
  return `id: ${id}\nevent: ${event.kind.replace(/[\r\n]/g, " ")}\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * The position a reconnecting client names: the header of the protocol wins over the query. Null when none
 * is; 0, which is before all events, for the id of another history, such as a coordination server's.
 */
export function resumePosition(request: Request, after: number | undefined): number | null {
  const header = request.headers.get("last-event-id") ?? "";
  if (/^\d+$/.test(header)) return Number(header);
  return after ?? (header === "" ? null : 0);
}

/** The streams of one server that do not end by themselves; each gets every event. */
export interface Followers {
  /**
   * The items of `open`, which is given a signal that aborts when the reader has left. Throws `unavailable`
   * when all places are taken. The place is free again as soon as the reader has left or the items have
   * ended; giving up the items before the first is leaving too.
   */
  admit<Item>(left: AbortSignal, open: (left: AbortSignal) => AsyncGenerator<Item>): AsyncGenerator<Item>;
}

export function createFollowers(): Followers {
  let followed = 0;
  return {
    admit(left, open) {
      if (followed >= maxFollowers) {
        throw new ServiceError(
          "unavailable",
          `${maxFollowers} streams of events are followed already; end one first`,
        );
      }
      followed += 1;
      const over = new AbortController();
      const end = () => {
        if (over.signal.aborted) return;
        followed -= 1;
        left.removeEventListener("abort", end);
        over.abort();
      };
      if (left.aborted) end();
      else left.addEventListener("abort", end, { once: true });
      return endingWith(open(over.signal), end);
    },
  };
}

/** `items`, and `end` called once they are over, however that came. */
function endingWith<Item>(items: AsyncGenerator<Item>, end: () => void): AsyncGenerator<Item> {
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
