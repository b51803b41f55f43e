import { afterAll, beforeAll, expect, test } from "bun:test";
import { brokenRules, stockClients } from "../support/agui.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

let quiet: HeadlessAgentFixture;
beforeAll(async () => {
  quiet = await launchHeadless({ name: "quiet" });
}, 120_000);
afterAll(() => quiet[Symbol.asyncDispose](), 120_000);

/** The silences between the pieces of a stream: each, and on the mean. */
function listener() {
  const began = performance.now();
  let last = began;
  let longestMs = 0;
  let pieces = 0;
  return {
    onBytes() {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
      pieces += 1;
    },
    longestMs: () => longestMs,
    meanMs: () => (last - began) / pieces,
  };
}

/**
 * Longer than the 10 s after which Bun ends a silent connection; tests/unit/agui/paced.test.ts goes on for a
 * minute.
 */
const silentMs = 13_000;

test("an agent that says nothing for long ends neither a run nor a connection", async () => {
  const base = `${quiet.baseUrl()}/v1/ag-ui`;
  const streams = stockClients.map((client, at) => {
    const heard = listener();
    let connectionId = "";
    const connection = client.run(`${base}/connect`, {
      runId: `watch-${at}`,
      onBytes: heard.onBytes,
      onEvent({ type, ...event }) {
        if (type !== "STATE_SNAPSHOT") return;
        const { svc } = event["snapshot"] as { svc: { connection: { connectionId: string } } };
        connectionId = svc.connection.connectionId;
      },
    });
    return { heard, connection, connectionId: () => connectionId };
  });
  await until("both viewers", () => streams.every((stream) => stream.connectionId() !== ""));
  const [client] = stockClients;
  const heard = listener();
  const startedMs = performance.now();
  const prompt = `be quiet\nSILENT ${silentMs}`;
  const run = await client?.run(`${base}/runs`, { runId: "quiet", prompt, onBytes: heard.onBytes });
  expect(performance.now() - startedMs).toBeGreaterThan(silentMs - 1000);
  expect([run?.error, brokenRules(run?.raw ?? "")]).toEqual([null, []]);
  expect(run?.events.at(-1)?.type).toBe("RUN_FINISHED");
  for (const stream of streams) {
    await fetch(`${base}/connections/${stream.connectionId()}`, {
      method: "DELETE",
      proxy: false,
    } as RequestInit);
    const viewer = await stream.connection;
    expect([viewer.error, brokenRules(viewer.raw)]).toEqual([null, []]);
    expect(viewer.events.at(-1)?.type).toBe("RUN_FINISHED");
  }
  for (const one of [heard, ...streams.map((stream) => stream.heard)]) {
    expect(one.meanMs()).toBeLessThan(5000);
    // A machine may stand still for a few seconds; readers give up after thirty.
    expect(one.longestMs()).toBeLessThan(20_000);
  }
}, 240_000);
