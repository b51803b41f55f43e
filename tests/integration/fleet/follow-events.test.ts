import { expect, test } from "bun:test";
import { type FollowOptions, followEvents } from "../../../src/services/fleet/follow-events.ts";
import { createGatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { GatewayLink } from "../../../src/services/fleet/gateway-link.ts";
import { createClock } from "../../../src/system/clock.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createTestSignal } from "../../support/until.ts";

const clock = createClock();

/** A gateway's event stream: what is logged is told after the position that the follower names. */
function createSource() {
  const log: number[] = [];
  const asked: (string | null)[] = [];
  const tell = new Set<() => void>();
  const line = (seq: number) =>
    `id: ${seq}\ndata: ${JSON.stringify({ seq, kind: "test", at_utc: "2026-11-21T04:47:00.000+00:00" })}\n\n`;

  function serve() {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch(request) {
        const after = new URL(request.url).searchParams.get("after");
        asked.push(after);
        let at = after === null ? log.length : Number(after);
        let more = () => {};
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            more = () => {
              while (at < log.length) controller.enqueue(new TextEncoder().encode(line(++at)));
            };
            controller.enqueue(new TextEncoder().encode(": connected\n\n"));
            more();
            tell.add(more);
          },
          cancel: () => void tell.delete(more),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const client = createGatewayClient({
      clock,
      baseUrl: `http://127.0.0.1:${server.port}`,
      token: null,
      respectProxyEnvironment: false,
    });
    return { link: { state: "healthy", client } as GatewayLink, stop: () => server.stop(true) };
  }
  return {
    asked,
    serve,
    append() {
      log.push(log.length + 1);
      for (const more of tell) more();
    },
  };
}

/** Follows until stopped; every callback is told in order. */
function follow(link: FollowOptions["link"], more: Partial<FollowOptions> = {}) {
  const stop = new AbortController();
  const reports = createTestSignal<string>();
  const { emit: note } = reports;
  const done = followEvents({
    clock,
    link,
    afterSeq: null,
    signal: stop.signal,
    onConnected: () => note("connected"),
    onLost: () => note("lost"),
    onEvent: (event) => note(`event ${event.seq}`),
    ...more,
  });
  return {
    told: reports.values,
    until: (what: string) => reports.first(what, (report) => report === what),
    async stop() {
      stop.abort();
      await done;
    },
  };
}

test("a restarted gateway, elsewhere, is followed on from the last event that was reported", async () => {
  const source = createSource();
  let gateway = source.serve();
  let running = true;
  const following = follow(async () =>
    running ? gateway.link : { state: "absent", why: "no gateway runs for this agent" },
  );
  await following.until("connected");
  source.append();
  await following.until("event 1");
  running = false;
  await gateway.stop();
  await following.until("lost");
  source.append();
  source.append();
  gateway = source.serve();
  running = true;
  await following.until("event 3");
  await following.stop();
  await gateway.stop();
  expect(following.told).toEqual(["connected", "event 1", "lost", "connected", "event 2", "event 3"]);
  expect([source.asked[0], source.asked.at(-1)]).toEqual([null, "1"]);
});

test("the loss is reported once, however often the gateway is not found", async () => {
  let asked = 0;
  const third = Promise.withResolvers<void>();
  const following = follow(async () => {
    if (++asked === 3) third.resolve();
    return { state: "absent", why: "no gateway runs for this agent" };
  });
  await third.promise;
  await following.stop();
  expect(following.told).toEqual(["lost"]);
});

test("a stop ends an open stream at once, and a failing callback ends the following with its reason", async () => {
  const source = createSource();
  const gateway = source.serve();
  const following = follow(async () => gateway.link);
  await following.until("connected");
  await following.stop();

  const failing = followEvents({
    clock,
    link: async () => gateway.link,
    afterSeq: 0,
    signal: new AbortController().signal,
    onEvent: () => Promise.reject(new Error("the reader has gone")),
  });
  source.append();
  expect(await awaitOutcome(failing)).toThrow("the reader has gone");
  await gateway.stop();
});
