import { expect, test } from "bun:test";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { openRawLine } from "./raw-line.ts";

function serve(limits: { stalledBodySeconds?: number } = {}) {
  const gateway = createGatewayBundle();
  const clock = createClock();
  const server = listen({ fetch: gateway.app.fetch, host: "127.0.0.1", port: 0, clock, ...limits });
  return {
    gateway,
    connect: () => openRawLine(server.port),
    async [Symbol.asyncDispose]() {
      await server.stop(0);
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const host = "Host: 127.0.0.1\r\n";
const post = (head: string) =>
  `POST /v1/requests HTTP/1.1\r\n${host}Content-Type: application/json\r\n${head}\r\n`;

// Both wait for real limits: side by side they take as long as one.
test.concurrent("what never becomes a whole request is closed; who asked before is not, nor a quiet stream", async () => {
  await using served = await serve();
  using kept = await served.connect();
  kept.send(`GET /health HTTP/1.1\r\n${host}\r\n`);
  await kept.until((text) => text.includes('"status":"ok"'));
  using stream = await served.connect();
  stream.send(`GET /v1/events HTTP/1.1\r\n${host}\r\n`);
  await stream.until((text) => text.includes(": connected"));

  const heldToTheEnd = async (half: string) => {
    using line = await served.connect();
    line.send(half);
    const { heard } = await line.until(() => false);
    expect([half, heard]).toEqual([half, expect.not.stringContaining(" 200 ")]);
  };
  await Promise.all(["", "GET /hea", "GET /health HTTP/1.1\r\nHo"].map(heldToTheEnd));
  // Whoever asked before has been silent for longer.
  kept.send(`GET /health HTTP/1.1\r\n${host}\r\n`);
  const { heard } = await kept.until((text) => text.split('"status":"ok"').length === 3);
  expect(heard.match(/ 200 /g)).toHaveLength(2);
  expect(served.gateway.followers()).toBe(1);
}, 120_000);

test.concurrent("a body that stalls is closed by its own limit, and nothing of it is carried out", async () => {
  await using served = await serve({ stalledBodySeconds: 1 });
  const stalled = [
    `${post("Content-Length: 20\r\n")}{"kind"`,
    `${post("Transfer-Encoding: chunked\r\n")}14\r\n{"kind":`,
  ];
  await Promise.all(
    stalled.map(async (begun) => {
      using line = await served.connect();
      line.send(begun);
      expect((await line.until(() => false)).closed).toBe(true);
    }),
  );
  expect([served.gateway.queue.depth(), served.gateway.faults]).toEqual([0, []]);
}, 120_000);
