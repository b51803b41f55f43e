import { describe, expect, test } from "bun:test";
import { settle } from "../support/fake-clock.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { surfaces } from "../support/http-surface.ts";

describe.each(surfaces)("GET /v1/events $surface", ({ open }) => {
  async function setup() {
    const bundle = createGatewayBundle();
    const http = open((request) => bundle.app.fetch(request));
    return {
      ...bundle,
      http,
      async [Symbol.asyncDispose]() {
        await bundle[Symbol.asyncDispose]();
        await http[Symbol.asyncDispose]();
      },
    };
  }

  test("HEAD is answered at once, and nobody follows after it", async () => {
    await using gateway = await setup();
    const reply = await gateway.http.request("/v1/events", { method: "HEAD" });
    expect([reply.status, await reply.text(), gateway.followers()]).toEqual([200, "", 0]);
    expect(reply.headers.get("content-type")).toContain("text/event-stream");
  });

  /** A stream's text, taken piece by piece. */
  async function follow(gateway: Awaited<ReturnType<typeof setup>>, path: string, headers: HeadersInit = {}) {
    const reply = await gateway.http.request(path, { headers });
    expect(reply.headers.get("content-type")).toContain("text/event-stream");
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    /** All up to and with `end`. */
    const until = async (end: string): Promise<string> => {
      for (let done = false; !rest.includes(end) && !done; ) {
        const piece = await reader.read();
        done = piece.done;
        rest += decoder.decode(piece.value, { stream: true });
      }
      const at = rest.indexOf(end) + end.length;
      const taken = rest.slice(0, at);
      rest = rest.slice(at);
      return taken;
    };
    await until(": connected\n\n");
    return { until, cancel: () => reader.cancel() };
  }

  const accept = (gateway: Awaited<ReturnType<typeof setup>>, prompt: string) =>
    gateway.queue.accept({ kind: "submit_prompt", payload: { prompt } });

  test("says what is to come, with position, kind and the whole event", async () => {
    await using gateway = await setup();
    await accept(gateway, "before");
    await settle();
    const reader = await follow(gateway, "/v1/events");
    const next = reader.until("event: completed");
    await settle();
    const { request_id } = await accept(gateway, "now");
    const text = await next;
    expect(text).toContain(
      `id: ${gateway.events.findIndex((one) => (one as Record<string, unknown>)["request_id"] === request_id) + 1}\n`,
    );
    expect(text).toStartWith("id: ");
    expect(text).toContain(`"request_id":"${request_id}"`);
    expect(text).not.toContain('"seq":1,');
    await reader.cancel();
  });

  const lost = "sends all to a position";
  test.each([
    { id: "resumes by Last-Event-ID", path: "/v1/events", headers: { "last-event-id": "1" }, known: 1 },
    { id: "resumes by the query", path: "/v1/events?after=1", headers: {}, known: 1 },
    { id: `${lost} beyond the history`, path: "/v1/events", headers: { "last-event-id": "99999" }, known: 0 },
    { id: `${lost} beyond it, by the query`, path: "/v1/events?after=99999", headers: {}, known: 0 },
    {
      id: `${lost} of another history`,
      path: "/v1/events",
      headers: { "last-event-id": "5f2c-12" },
      known: 0,
    },
  ])("$id, without a gap", async ({ path, headers, known }) => {
    await using gateway = await setup();
    await accept(gateway, "x");
    await settle();
    const reader = await follow(gateway, path, headers as HeadersInit);
    const text = await reader.until("event: completed");
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    expect(ids).toEqual(gateway.events.slice(known).map((event) => event.seq));
    await reader.cancel();
  });

  test("a silent stream gets heartbeats, and one that is cancelled is let go", async () => {
    await using gateway = await setup();
    const reader = await follow(gateway, "/v1/events");
    let came = false;
    const beat = reader.until(": heartbeat\n\n").finally(() => {
      came = true;
    });
    while (!came) await gateway.clock.advance(15_000);
    expect(await beat).toContain(": heartbeat");
    expect(gateway.followers()).toBe(1);
    await reader.cancel();
    // A server learns of it when the closed connection reaches it and it next has something to say; how long
    // that takes is the machine's, so the test's own limit is the only bound.
    while (gateway.followers() > 0) await gateway.clock.advance(15_000);
  });

  test("a bad position is 422", async () => {
    await using gateway = await setup();
    expect((await gateway.http.request("/v1/events?after=-1")).status).toBe(422);
    expect((await gateway.http.request("/v1/events?since=1")).status).toBe(422);
  });
});
