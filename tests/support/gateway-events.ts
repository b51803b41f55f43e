/** One event of a gateway as `GET /v1/events` streams it; other fields are the event's own. */
type StreamedEvent = Record<string, unknown> & { kind: string };

/** A gateway's events from the moment of the call on. */
export interface GatewayEvents extends AsyncDisposable {
  /**
   * Resolves with the first event that is `wanted`, past or to come; throws after `timeoutMs` or at the
   * stream's end.
   */
  until(wanted: (event: StreamedEvent) => boolean, timeoutMs: number): Promise<StreamedEvent>;
}

export async function followEvents(baseUrl: string): Promise<GatewayEvents> {
  const abort = new AbortController();
  const reply = await fetch(`${baseUrl}/v1/events`, {
    signal: abort.signal,
    proxy: false,
  } as unknown as RequestInit);
  if (!reply.ok || !reply.body) throw new Error(`events: status ${reply.status}`);
  const seen: StreamedEvent[] = [];
  let told = Promise.withResolvers<void>();
  let over = false;
  const read = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of reply.body as ReadableStream<Uint8Array>) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (data !== undefined) seen.push(JSON.parse(data) as StreamedEvent);
      }
      told.resolve();
      told = Promise.withResolvers();
    }
  })()
    .catch(() => {})
    .finally(() => {
      over = true;
      told.resolve();
    });

  return {
    async until(wanted, timeoutMs) {
      const late = Promise.withResolvers<"late">();
      const timer = setTimeout(() => late.resolve("late"), timeoutMs);
      try {
        for (let at = 0; ; ) {
          for (; at < seen.length; at++) {
            const event = seen[at];
            if (event && wanted(event)) return event;
          }
          if (over) throw new Error("the event stream ended");
          if ((await Promise.race([told.promise, late.promise])) === "late") {
            throw new Error(`not within ${timeoutMs} ms; the last events: ${JSON.stringify(seen.slice(-5))}`);
          }
        }
      } finally {
        clearTimeout(timer);
      }
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await read;
    },
  };
}
