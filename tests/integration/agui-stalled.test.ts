import { expect, test } from "bun:test";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json } from "../support/http-surface.ts";
import { until } from "../support/until.ts";

const changes = 240;
const ballast = "x".repeat(512 * 1024);
const input = (runId: string) => ({ threadId: "t", runId, messages: [], state: { ballast } });

/** A viewer that sends its request and takes nothing from its socket until told. */
async function stalledViewer(port: number) {
  const body = JSON.stringify(input("stalled"));
  const decoder = new TextDecoder();
  let raw = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, bytes) {
        raw += decoder.decode(bytes, { stream: true });
      },
      drain(open) {
        send(open);
      },
    },
  });
  const head = [
    "POST /v1/ag-ui/connect HTTP/1.1",
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  let rest = `${head.join("\r\n")}\r\n\r\n${body}`;
  function send(open: { write(text: string): number }) {
    rest = rest.slice(open.write(rest));
  }
  socket.pause();
  send(socket);
  return { resume: () => socket.resume(), raw: () => raw, end: () => socket.end() };
}

test("a viewer that stops reading costs no memory, holds nobody up, and sees the present when it reads on", async () => {
  await using bundle = createGatewayBundle();
  const { port, stop } = listen({
    fetch: (request) => bundle.app.fetch(request),
    host: "127.0.0.1",
    port: 0,
    clock: createClock(),
  });
  const stalled = await stalledViewer(port);
  await until("the stalled viewer", () => bundle.followers() === 1);
  const reply = await fetch(`http://127.0.0.1:${port}/v1/ag-ui/connect`, {
    ...json(input("reading")),
    proxy: false,
  } as RequestInit);
  let seen = "";
  let snapshots = 0;
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of reply.body ?? []) {
      seen += decoder.decode(bytes, { stream: true });
      const blocks = seen.split("\n\n");
      seen = blocks.pop() ?? "";
      snapshots += blocks.filter((block) => block.includes("STATE_SNAPSHOT")).length;
    }
  })();
  await until("the state as it is", () => snapshots === 1);
  const rss = () => process.memoryUsage().rss;
  Bun.gc(true);
  const beforeBytes = rss();
  for (let change = 1; change <= changes; change++) {
    const wanted = snapshots + 1;
    bundle.agent.setConnectivity({ connected: change % 2 === 0, detail: "flips" });
    await until(`the viewer who reads to see change ${change}`, async () => {
      await bundle.clock.advance(20);
      return snapshots >= wanted;
    });
  }
  Bun.gc(true);
  expect(snapshots).toBe(changes + 1);
  // What was told meanwhile is 120 MB: all of it kept for the one who does not read would be seen here.
  expect(rss() - beforeBytes).toBeLessThan(80 * 1024 * 1024);

  bundle.agent.setConnectivity({ connected: true, detail: "the last", instanceId: "the-last" });
  stalled.resume();
  await until("the present state", async () => {
    await bundle.clock.advance(20);
    return stalled.raw().includes("reconciliation_required");
  });
  const stream = stalled.raw();
  const missed = stream.split('"type":"STATE_SNAPSHOT"').length - 1;
  expect(missed).toBeLessThan(changes / 2);
  stalled.end();
  void bundle.stop();
  await reading;
  await stop(0);
}, 120_000);
