import type { StreamItem } from "../../services/diagnostics/event-stream.ts";

/**
 * Server-sent events as bytes, one item for each pull of the reader: `id` is the event's position, `event` its
 * kind, `data` the whole event on one line. A heartbeat is a comment, which clients ignore.
 */
export function toServerSentEvents(items: AsyncGenerator<StreamItem>): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(": connected\n\n"));
      },
      async pull(controller) {
        const next = await items.next();
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(renderItem(next.value)));
      },
      async cancel() {
        await items.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

function renderItem(item: StreamItem): string {
  if (item.item === "heartbeat") return ": heartbeat\n\n";
  const { event } = item;
  // A kind is our own word; a line break in it would end the field.
  return `id: ${event.seq}\nevent: ${event.kind.replace(/[\r\n]/g, " ")}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The position a reconnecting client names: the header of the protocol wins over the query. Null when none is. */
export function resumePosition(request: Request, after: number | undefined): number | null {
  const header = request.headers.get("last-event-id");
  if (header !== null && /^\d+$/.test(header)) return Number(header);
  return after ?? null;
}
