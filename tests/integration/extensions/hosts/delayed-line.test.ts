import { expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { openDelayedLine } from "../../../support/delayed-line.ts";
import { createScratch } from "../../../support/scratch.ts";

const loopback = { address: "127.0.0.1", prefix: [] };

test("bytes of a delayed caller are late in each direction and keep their order", async () => {
  using scratch = createScratch();
  const echo = createServer((socket) => void socket.pipe(socket));
  await new Promise<void>((resolve) => echo.listen(0, loopback.address, resolve));
  const address = echo.address();
  const port = typeof address === "object" && address ? address.port : 0;
  await using line = await openDelayedLine({ network: loopback, port }, scratch.path("delays"));
  const caller = connect({ host: loopback.address, port: line.port });
  const text = Array.from({ length: 200 }, (_, number) => `part ${number}\n`);
  const write = async (parts: readonly string[]) => {
    for (const part of parts) {
      caller.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  line.delay(loopback, 150);
  const startMs = performance.now();
  await write(text.slice(0, 100));
  let received = "";
  let firstMs = 0;
  for await (const bytes of caller) {
    if (received === "") {
      firstMs = performance.now() - startMs;
      // What the delay still holds arrives before what is sent without one.
      line.delay(loopback, 0);
      await write(text.slice(100));
    }
    received += bytes;
    if (received.length >= text.join("").length) break;
  }
  expect(received).toBe(text.join(""));
  expect(firstMs).toBeGreaterThan(297);
  echo.close();
}, 30_000);
