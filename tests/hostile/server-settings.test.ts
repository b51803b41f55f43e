import { expect, test } from "bun:test";
import { join } from "node:path";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";

test("a handler that fails beyond all our own answers shows callers nothing of why", async () => {
  const script = join(import.meta.dir, "..", "support", "failing-server.ts");
  const child = Bun.spawn([process.execPath, script], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const { status, told } = JSON.parse(await new Response(child.stdout).text());
  expect(status).toBe(500);
  expect(told.length).toBeLessThan(100);
  expect(told).not.toContain("secret");
  await child.exited;
});

test("a port that somebody listens on is shared with nobody", async () => {
  const options = { fetch: () => new Response(), host: "127.0.0.1", clock: createClock() };
  const first = listen({ ...options, port: 0 });
  try {
    expect(() => listen({ ...options, port: first.port })).toThrow("already in use");
  } finally {
    await first.stop(0);
  }
});
