import { createTestSignal, type TestSignal } from "./until.ts";

/** One event of a gateway as `GET /v1/events` streams it; other fields are the event's own. */
type StreamedEvent = Record<string, unknown> & { kind: string };

/** A gateway's events; the end of the stream is their end. */
export type GatewayEvents = AsyncDisposable & Pick<TestSignal<StreamedEvent>, "first">;

/** `after`: a position from which on past events come too. */
export async function followEvents(
  baseUrl: string,
  { after = null }: { after?: number | null } = {},
): Promise<GatewayEvents> {
  const abort = new AbortController();
  const reply = await fetch(`${baseUrl}/v1/events${after === null ? "" : `?after=${after}`}`, {
    signal: abort.signal,
    proxy: false,
  } as unknown as RequestInit);
  if (!reply.ok || !reply.body) throw new Error(`events: status ${reply.status}`);
  const events = createTestSignal<StreamedEvent>();
  const read = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of reply.body as ReadableStream<Uint8Array>) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (data !== undefined) events.emit(JSON.parse(data) as StreamedEvent);
      }
    }
  })()
    .catch(() => {})
    .finally(() => events.end());

  return {
    first: events.first,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await read;
    },
  };
}

/** Resolves when the request has ended, before the call or after it. */
export async function requestEnd(baseUrl: string, requestId: string): Promise<void> {
  await using events = await followEvents(baseUrl, { after: 0 });
  await events.first(`the end of ${requestId}`, ({ kind, request_id, coalesced_request_ids: coalesced }) =>
    kind === "coalesced"
      ? Array.isArray(coalesced) && coalesced.includes(requestId)
      : (kind === "completed" || kind === "failed") && request_id === requestId,
  );
}
