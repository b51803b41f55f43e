import { describe, expect, test } from "bun:test";
import { createOtlpEncoding } from "../../../../../src/services/extensions/observe/traces/otlp-encoding.ts";
import type { TraceSpan } from "../../../../../src/services/extensions/observe/traces/request-trace.ts";
import {
  createSpanExporter,
  type ExportEvent,
  type ExportState,
  initialState,
  next,
  type Sent,
} from "../../../../../src/services/extensions/observe/traces/span-exporter.ts";
import { createFakeClock, settle } from "../../../../support/fake-clock.ts";

/** Spans on their way to a collector that is well, slow, gone or hostile. */

const agent = { agentId: "a", agentName: "worker", tool: "demo", version: "1" };

function spans(count: number): TraceSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    traceId: "1".repeat(32),
    spanId: index.toString(16).padStart(16, "1"),
    parentSpanId: null,
    name: "request",
    kind: "server",
    startMs: 0,
    endMs: 1,
    attributes: {},
    events: [],
    links: [],
    error: null,
  }));
}

type Answer = () => Response | Promise<Response>;
const taken: Answer = () => new Response("{}");
const gone: Answer = () => {
  throw Object.assign(new Error("http://secret.example refused"), { code: "ConnectionRefused" });
};
/** Answers when it is given up. */
const silent = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

function openExporter(url = "http://127.0.0.1:4318/v1/traces") {
  const clock = createFakeClock();
  const lines: string[] = [];
  const requests: { count: number; init: RequestInit & { proxy?: unknown } }[] = [];
  let answer: Answer | "silent" = taken;
  const exporter = createSpanExporter({
    clock,
    network: {
      async fetch(_, init) {
        const body = JSON.parse(new TextDecoder().decode(init.body as Uint8Array)) as {
          resourceSpans: { scopeSpans: { spans: unknown[] }[] }[];
        };
        requests.push({ count: body.resourceSpans[0]?.scopeSpans[0]?.spans.length ?? 0, init });
        return answer === "silent" ? silent(init.signal as AbortSignal) : answer();
      },
    },
    log: { line: (text, fields) => void lines.push(`${text} ${JSON.stringify(fields ?? {})}`) },
    settings: { url, headers: { "api-key": "k", "content-type": "text/plain" }, timeoutMs: 10_000 },
    encoding: createOtlpEncoding("http/json", agent, {}),
  });
  exporter.start();
  return {
    clock,
    lines,
    requests,
    exporter,
    become(next: Answer | "silent") {
      answer = next;
    },
  };
}

test("spans of a second are one request, which goes past a proxy and follows no redirect", async () => {
  const { clock, requests, exporter } = openExporter();
  exporter.add(spans(2));
  await clock.advance(500);
  exporter.add(spans(1));
  expect(requests).toEqual([]);
  await clock.advance(500);
  expect(requests.map(({ count }) => count)).toEqual([3]);
  expect(requests[0]?.init).toMatchObject({
    method: "POST",
    redirect: "manual",
    proxy: false,
    headers: { "api-key": "k", "content-type": "application/json" },
  });
  expect(exporter.counts()).toEqual({ exported: 3, dropped: 0, rejected: 0, queued: 0 });
  await exporter.stop();
  expect(requests).toHaveLength(1);
});

test("a proxy of the environment is obeyed for what lies elsewhere", async () => {
  const { clock, requests, exporter } = openExporter("https://collector.example/v1/traces");
  exporter.add(spans(1));
  await clock.advance(1000);
  expect(requests[0]?.init).not.toHaveProperty("proxy");
});

test("many are several requests", async () => {
  const { clock, requests, exporter } = openExporter();
  exporter.add(spans(1200));
  await clock.advance(1000);
  expect(requests.map(({ count }) => count)).toEqual([512, 512, 176]);
});

describe("a collector that is gone", () => {
  test("is asked again at ever longer intervals, with one line of the log, without the address", async () => {
    const { clock, requests, exporter, lines, become } = openExporter();
    become(gone);
    exporter.add(spans(1));
    await clock.advance(600_000);
    expect(requests.length).toBeGreaterThan(10);
    expect(requests.length).toBeLessThan(20);
    expect(lines).toEqual(['traces not exported {"error":"no connection (ConnectionRefused)"}']);
    become(taken);
    await clock.advance(60_000);
    expect(exporter.counts()).toEqual({ exported: 1, dropped: 0, rejected: 0, queued: 0 });
    expect(lines.at(-1)).toBe("traces are exported again {}");
  });

  test("costs the oldest spans beyond the bound, which are counted", async () => {
    const { clock, exporter, become } = openExporter();
    become(gone);
    exporter.add(spans(1500));
    await clock.advance(1000);
    exporter.add(spans(1500));
    await clock.advance(60_000);
    expect(exporter.counts()).toEqual({ exported: 0, dropped: 952, rejected: 0, queued: 2048 });
    await exporter.stop();
    expect(exporter.counts()).toEqual({ exported: 0, dropped: 3000, rejected: 0, queued: 0 });
  });

  test("and is silent, holds up the end for a second", async () => {
    const { clock, exporter, become, lines } = openExporter();
    become("silent");
    exporter.add(spans(1));
    await clock.advance(1000);
    const stopped = exporter.stop();
    await clock.advance(1000);
    await stopped;
    expect(lines).toEqual(['traces not exported {"error":"no answer within 1000 ms"}']);
    expect(exporter.counts()).toEqual({ exported: 0, dropped: 1, rejected: 0, queued: 0 });
    expect(clock.pending()).toBe(0);
  });
});

test("the end sends what is left", async () => {
  const { exporter } = openExporter();
  exporter.add(spans(600));
  await settle();
  await exporter.stop();
  expect(exporter.counts()).toEqual({ exported: 600, dropped: 0, rejected: 0, queued: 0 });
});

describe("an answer", () => {
  const partial = { partialSuccess: { rejectedSpans: "2", errorMessage: "secret" } };
  test.each<{ id: string; answer: Answer; exported: number; rejected: number; again: boolean }>([
    {
      id: "that takes a part",
      answer: () => Response.json(partial),
      exported: 1,
      rejected: 2,
      again: false,
    },
    {
      id: "that is no JSON",
      answer: () => new Response("<html>"),
      exported: 3,
      rejected: 0,
      again: false,
    },
    { id: "without end", answer: endless, exported: 3, rejected: 0, again: false },
    {
      id: "400",
      answer: () => new Response("", { status: 400 }),
      exported: 0,
      rejected: 3,
      again: false,
    },
    {
      id: "a redirect",
      answer: () => new Response("", { status: 307, headers: { location: "https://elsewhere.example" } }),
      exported: 0,
      rejected: 3,
      again: false,
    },
    {
      id: "503",
      answer: () => new Response("", { status: 503 }),
      exported: 0,
      rejected: 0,
      again: true,
    },
    {
      id: "429",
      answer: () => new Response("", { status: 429 }),
      exported: 0,
      rejected: 0,
      again: true,
    },
  ])("$id", async ({ answer, exported, rejected, again }) => {
    const { clock, requests, exporter, become } = openExporter();
    become(answer);
    exporter.add(spans(3));
    await clock.advance(1000);
    expect(exporter.counts()).toMatchObject({ exported, rejected, queued: again ? 3 : 0 });
    await clock.advance(1000);
    expect(requests).toHaveLength(again ? 2 : 1);
  });

  test("that asks for time is given it", async () => {
    const { clock, requests, exporter, become } = openExporter();
    become(() => new Response("", { status: 503, headers: { "retry-after": "20" } }));
    exporter.add(spans(1));
    await clock.advance(20_000);
    expect(requests).toHaveLength(1);
    await clock.advance(1000);
    expect(requests).toHaveLength(2);
  });
});

function endless(): Response {
  const part = new TextEncoder().encode("x".repeat(1024));
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(part) }));
}

describe("when the next spans are sent", () => {
  const nowMs = 10_000;
  const due: ExportState = { dueAtMs: 10_500, retryMs: 1000, problem: "" };
  const failing: ExportState = { dueAtMs: 10_500, retryMs: 4000, problem: "no connection" };
  const sent = (result: Sent, isMore = false): ExportEvent => ({ kind: "sent", nowMs, result, isMore });
  const later = (change: Partial<Extract<Sent, { sent: "later" }>> = {}): Sent => ({
    sent: "later",
    why: "no connection",
    askedMs: null,
    cut: false,
    ...change,
  });
  const cases: { id: string; from: ExportState; event: ExportEvent; want: Partial<ExportState> }[] = [
    {
      id: "a second after the first span",
      from: initialState,
      event: { kind: "queued", nowMs },
      want: { dueAtMs: 11_000 },
    },
    { id: "not later for the next span", from: due, event: { kind: "queued", nowMs }, want: {} },
    {
      id: "never once all are taken",
      from: due,
      event: sent({ sent: "taken", rejected: 0 }),
      want: { dueAtMs: null },
    },
    {
      id: "at once while more are queued",
      from: due,
      event: sent({ sent: "taken", rejected: 0 }, true),
      want: { dueAtMs: nowMs },
    },
    {
      id: "spans that are taken end the pauses and the problem",
      from: failing,
      event: sent({ sent: "taken", rejected: 0 }),
      want: { dueAtMs: null, retryMs: 1000, problem: "" },
    },
    {
      id: "a refusal is a problem, and is not tried again",
      from: due,
      event: sent({ sent: "refused", why: "status 400" }),
      want: { dueAtMs: null, problem: "status 400" },
    },
    {
      id: "after a pause that doubles",
      from: failing,
      event: sent(later()),
      want: { dueAtMs: 14_000, retryMs: 8000 },
    },
    {
      id: "after at most a minute",
      from: { ...failing, retryMs: 60_000 },
      event: sent(later()),
      want: { dueAtMs: 70_000, retryMs: 60_000 },
    },
    {
      id: "not before the collector asked for",
      from: due,
      event: sent(later({ askedMs: 30_000 })),
      want: { dueAtMs: 40_000, retryMs: 2000, problem: "no connection" },
    },
    {
      id: "a request that the exporter ended is no problem of the collector",
      from: due,
      event: sent(later({ cut: true })),
      want: { dueAtMs: 11_000, retryMs: 2000, problem: "" },
    },
    { id: "never after the end", from: failing, event: { kind: "ended" }, want: { dueAtMs: null } },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(next(from, event)).toEqual({ ...from, ...want });
  });
});
