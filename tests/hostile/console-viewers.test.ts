import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { maxFollowers } from "../../src/protocol/events.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createBuiltFixture, launchBuilt } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/** Many who look at the terminal of one agent while it writes without a pause, and one who does not read. */

const dist = join(import.meta.dirname, "../../dist");
/** Of each kind, pictures and bytes: more than a hundred together with those who read nothing. */
const viewersOfEach = 50;
/** Lines of one flood, about 5 MB. */
const lines = 700_000;
/** To this the memory falls again after each flood: 80 to 120 MiB were seen, also after the sixth. */
const maxRestMiB = 140;
/** security.md 8. */
const maxPeakMiB = 300;

const memoryOf = (pid: number, field: "VmHWM" | "VmRSS") =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/** Shows the end of what came, and how much it was. */
function ending() {
  const decoder = new TextDecoder();
  const seen = { bytes: 0, end: "", skipped: false };
  return {
    seen,
    take(part: Uint8Array) {
      seen.bytes += part.byteLength;
      const text = seen.end + decoder.decode(part, { stream: true });
      seen.skipped ||= text.includes('"why":"skipped"');
      seen.end = text.slice(-6000);
    },
  };
}

function watchBytes(port: number) {
  const { seen, take } = ending();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/terminal/socket`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) =>
    take(typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data as ArrayBuffer));
  return { seen, close: () => socket.close() };
}

function watchRows(port: number) {
  const { seen, take } = ending();
  const left = new AbortController();
  void (async () => {
    const init = { signal: left.signal, proxy: false } as RequestInit;
    const { body } = await fetch(`http://127.0.0.1:${port}/v1/screen/events`, init);
    for await (const part of body ?? []) take(part);
  })().catch(() => {});
  return { seen, close: () => left.abort() };
}

/** Asks for a stream and takes nothing of it until it is told to. */
async function neverReads(port: number, path: string, headers: string[]) {
  const { seen, take } = ending();
  const socket: Socket = connect(port, "127.0.0.1");
  socket.pause();
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write([`GET ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`, ...headers, "", ""].join("\r\n"));
  return {
    seen,
    read() {
      socket.on("data", take);
      socket.resume();
    },
    close: () => socket.destroy(),
  };
}

const upgrade = [
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  `sec-websocket-key: ${btoa("0123456789abcdef")}`,
];

/** Writes to the terminal of the agent as its program does, and a mark at the end. */
async function flood(fixture: CliFixture, session: string, mark: string): Promise<void> {
  const tty = await fixture.tmux("display-message", "-p", "-t", session, "#{pane_tty}");
  const done = await fixture.shell(`seq 1 ${lines} > ${tty}; printf '\\r\\n${mark}\\r\\n' > ${tty}`);
  expect(done.exitCode).toBe(0);
}

test("a hundred viewers and two who never read leave the memory of a gateway flat", async () => {
  await using fixture = createBuiltFixture(dist);
  const agent = await launchBuilt(fixture, "flooded");
  expect(await agent.serve()).toBe(true);
  const pid = agent.pid() ?? 0;
  const [session = ""] = await fixture.sessions();
  const { port } = JSON.parse(readFileSync(sessionPaths(agent.sessionRoot).currentInstance, "utf8")) as {
    port: number;
  };
  const watchers = Array.from({ length: viewersOfEach }, () => [watchBytes(port), watchRows(port)]).flat();
  const slowBytes = await neverReads(port, "/v1/terminal/socket", upgrade);
  const slowRows = await neverReads(port, "/v1/screen/events", []);
  try {
    await until("everybody has a first picture", () => watchers.every(({ seen }) => seen.bytes > 100));
    for (const mark of ["end-of-the-first-flood", "end-of-the-second-flood", "end-of-the-last-flood"]) {
      // From now on the peak is counted again.
      writeFileSync(`/proc/${pid}/clear_refs`, "5");
      await flood(fixture, session, mark);
      await until(
        `everybody sees the ${mark}`,
        () => watchers.every(({ seen }) => seen.end.includes(mark)),
        120_000,
      );
      expect(memoryOf(pid, "VmHWM")).toBeLessThan(maxPeakMiB);
      await until(`the memory falls after the ${mark}`, () => memoryOf(pid, "VmRSS") < maxRestMiB);
    }

    // What those who never read missed is not kept for them: they get the newest picture.
    slowBytes.read();
    slowRows.read();
    await until("they see the end", () =>
      [slowBytes, slowRows].every(({ seen }) => seen.end.includes("end-of-the-last-flood")),
    );
    expect(slowBytes.seen.skipped).toBe(true);
    const all = Math.max(...watchers.map(({ seen }) => seen.bytes));
    expect(slowBytes.seen.bytes).toBeLessThan(all);

    // There is a last place, and who comes after it is told so.
    const more = Array.from({ length: maxFollowers - viewersOfEach - 1 }, () => watchRows(port));
    await until("the places are taken", () => more.every(({ seen }) => seen.bytes > 100));
    const late = await fetch(`http://127.0.0.1:${port}/v1/screen/events`, { proxy: false } as RequestInit);
    expect([late.status, await late.json()]).toEqual([
      503,
      { detail: expect.stringContaining("are followed already") },
    ]);
    for (const { close } of more) close();
  } finally {
    for (const { close } of [...watchers, slowBytes, slowRows]) close();
    await agent.stop();
  }
}, 180_000);
