import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";

const mebibyte = 1024 * 1024;
const eventCount = 100_002;
const outputMiB = 100;
/** Of this most is not collected yet; the events alone are 25 MiB of text. */
const growthMiB = 120;

let batch: HeadlessAgentFixture;
let coordinator: CoordServer;
let firstCount = 0;

const fileOf = (name: string) => join(batch.sessionRoot, "manifest.turn-artifacts", "large", name);
const linesOf = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n");

beforeAll(async () => {
  batch = await launchHeadless();
  await batch.submit("large", "say hello");
  await batch.ended("large");
  coordinator = await startCoordinator(batch.fixture);
  const events = linesOf(fileOf("canonical-events.jsonl"));
  firstCount = events.length;
  const model = JSON.parse(events[0] ?? "{}") as object;
  const more = Array.from({ length: eventCount - firstCount }, (_, index) =>
    JSON.stringify({ ...model, kind: "progress", message: `event ${index}` }),
  );
  appendFileSync(fileOf("canonical-events.jsonl"), `${more.join("\n")}\n`);
  writeFileSync(fileOf("stdout.jsonl"), "");
  for (let part = 0; part < outputMiB; part++) {
    appendFileSync(fileOf("stdout.jsonl"), `${String(part).padStart(mebibyte - 1, ".")}\n`);
  }
}, 120_000);
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await batch?.[Symbol.asyncDispose]();
});

const surfaces = [
  {
    name: "gateway",
    turn: () => `${batch.baseUrl()}/v1/turns/large`,
    pid: () => batch.gatewayPid(),
  },
  {
    name: "coordinator",
    turn: () => `${coordinator.baseUrl}/svc/agents/batch/turns/large`,
    pid: () => coordinator.pid,
  },
];

const get = (url: string, method = "GET") => fetch(url, { method, proxy: false } as RequestInit);

function residentMiB(pid: number, field: "VmRSS" | "VmHWM"): number {
  const kib = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/**
 * What `work` came to, and by how much the memory of the process exceeded what it had before, at its peak.
 */
async function peakGrowth<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; grownMiB: number }> {
  const before = residentMiB(pid, "VmRSS");
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const result = await work();
  return { result, grownMiB: residentMiB(pid, "VmHWM") - before };
}

describe.each(surfaces)("a turn of 100,002 events and 100 MiB of output, at the $name", ({ turn, pid }) => {
  test("answers with every event, in memory that does not depend on their number", async () => {
    const { result, grownMiB } = await peakGrowth(pid(), async () => {
      const reply = await get(`${turn()}/events`);
      return { status: reply.status, type: reply.headers.get("content-type"), text: await reply.text() };
    });
    const body = JSON.parse(result.text) as { entries: { message: string }[]; next: number | null };
    expect([result.status, result.type, body.entries.length, body.next]).toEqual([
      200,
      "application/json",
      eventCount,
      null,
    ]);
    expect(body.entries.at(-1)?.message).toBe(`event ${eventCount - firstCount - 1}`);
    expect(grownMiB).toBeLessThan(growthMiB);
  }, 60_000);

  test("answers with the whole output, in memory that does not depend on its size", async () => {
    const { result, grownMiB } = await peakGrowth(pid(), async () => {
      const reply = await get(`${turn()}/artifacts/stdout`);
      const hash = new Bun.CryptoHasher("sha256");
      let bytes = 0;
      for await (const chunk of reply.body ?? []) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { status: reply.status, link: reply.headers.get("link"), bytes, digest: hash.digest("hex") };
    });
    const digest = new Bun.CryptoHasher("sha256").update(readFileSync(fileOf("stdout.jsonl"))).digest("hex");
    expect(result).toEqual({ status: 200, link: null, bytes: outputMiB * mebibyte, digest });
    expect(grownMiB).toBeLessThan(outputMiB - 20);
  }, 60_000);

  test("gives pages to those who ask, each of which says what follows", async () => {
    const seen: string[] = [];
    let after: number | null = eventCount - 2500;
    const pages: (number | null)[] = [];
    while (after !== null) {
      const reply = await get(`${turn()}/events?limit=1000&after=${after}`);
      const body = (await reply.json()) as { entries: { message: string }[]; next: number | null };
      seen.push(...body.entries.map(({ message }) => message));
      pages.push(body.next);
      after = body.next;
    }
    expect(pages).toEqual([eventCount - 1500, eventCount - 500, null]);
    expect([seen.length, new Set(seen).size, seen.at(-1)]).toEqual([
      2500,
      2500,
      `event ${eventCount - firstCount - 1}`,
    ]);
    const rest = await get(`${turn()}/events?after=${eventCount - 1}`);
    expect(await rest.json()).toMatchObject({ entries: [{}], next: null });
  }, 60_000);

  test("names the part of the output that follows", async () => {
    const sizes: number[] = [];
    let query: string | null = `?offset=${(outputMiB - 1) * mebibyte}&max_bytes=500000`;
    while (query !== null) {
      const reply = await get(`${turn()}/artifacts/stdout${query}`);
      sizes.push((await reply.arrayBuffer()).byteLength);
      query = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get("link") ?? "")?.[1] ?? null;
    }
    expect(sizes).toEqual([500_000, 500_000, mebibyte - 1_000_000]);
  });

  test("asked for the headers alone, reads nothing", async () => {
    for (const path of ["events", "artifacts/stdout"]) {
      const reply = await get(`${turn()}/${path}`, "HEAD");
      expect([reply.status, await reply.text()]).toEqual([200, ""]);
    }
  });

  test.each([
    "offset=9007199254740992",
    "offset=1e300",
    "offset=99999999999999999999",
    "max_bytes=9007199254740992",
  ])("refuses %s with 422", async (query) => {
    const reply = await get(`${turn()}/artifacts/stdout?${query}`);
    expect([reply.status, await reply.json()]).toEqual([422, { detail: [expect.anything()] }]);
  });

  test("has nothing behind the greatest offset", async () => {
    const reply = await get(`${turn()}/artifacts/stdout?offset=${Number.MAX_SAFE_INTEGER}`);
    expect([reply.status, await reply.text()]).toEqual([200, ""]);
  });
});
