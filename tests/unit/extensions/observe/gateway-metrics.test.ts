import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import type { GatewayStatus } from "../../../../src/protocol/gateway.ts";
import { meterGateway } from "../../../../src/routes/observe/meter.ts";
import { createEventLog } from "../../../../src/services/diagnostics/event-log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createScratch, type Scratch } from "../../../support/scratch.ts";

/** What a scrape of a gateway counts. */

const status = {
  backend: "local_interactive",
  managed_agent_connectivity: "connected",
  queue_depth: 2,
  request_admission: "open",
  active_execution: "running",
  managed_agent_instance_epoch: 3,
  waiting: { reason: "not_ready" },
} as unknown as GatewayStatus;

const spans = { exported: 5, dropped: 2, rejected: 0, queued: 1 };

function openMeter(scratch: Scratch) {
  const clock = createFakeClock();
  const log = createEventLog({
    files: scratch.files,
    clock,
    path: scratch.path("events.jsonl"),
    onError(error) {
      throw error;
    },
  });
  log.append("accepted", { request_id: "of-the-process-before", request_kind: "submit_prompt" });
  const meter = meterGateway({
    events: log,
    clock,
    status: () => status,
    spans: () => spans,
    facts: { version: "0.1.0", tool: "demo" },
  });
  const samples = async () => {
    const { text } = await meter.scrape();
    return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  };
  /** A prompt from its acceptance to its end, with a second for each step. */
  async function runPrompt(id: string, end: "completed" | "failed" = "completed") {
    const about = { request_id: id, request_kind: "submit_prompt" };
    log.append("accepted", { ...about, accepted_at_utc: "2026-01-01T00:00:00.000+00:00" });
    await clock.advance(1000);
    log.append("executing", about);
    await clock.advance(1000);
    log.append("request_evidence", { request_id: id, step: "submitted" });
    await clock.advance(1000);
    log.append(end, about);
    log.flush();
  }
  const usage = (turnId: string, output: number) => {
    log.append("turn_usage", {
      turn_id: turnId,
      usage: [
        {
          model: "large",
          input_tokens: 100,
          cached_input_tokens: 60,
          cache_write_tokens: 0,
          output_tokens: output,
          reasoning_tokens: 0,
        },
      ],
    });
    log.flush();
  };
  return { clock, log, meter, samples, runPrompt, usage };
}

describe("the first scrape", () => {
  test("counts what happened since the process began, and nothing of before", async () => {
    using scratch = createScratch();
    const { samples, runPrompt } = openMeter(scratch);
    await runPrompt("one");
    const lines = await samples();
    expect(lines).toContain('svc_requests_total{kind="submit_prompt",result="accepted"} 1');
    expect(lines).toContain('svc_requests_total{kind="submit_prompt",result="completed"} 1');
    expect(lines).toContain('svc_request_wait_seconds_sum{kind="submit_prompt"} 1');
    expect(lines).toContain("svc_prompt_delivery_seconds_sum 1");
    expect(lines).toContain('svc_request_run_seconds_sum{kind="submit_prompt",result="completed"} 2');
    expect(lines).toContain('svc_events_total{kind="executing"} 1');
  });

  test("says what the status says", async () => {
    using scratch = createScratch();
    const lines = await openMeter(scratch).samples();
    expect(lines).toContain("svc_queue_depth 2");
    expect(lines).toContain("svc_instance_epoch 3");
    expect(lines).toContain('svc_waiting{reason="not_ready"} 1');
    expect(lines).toContain('svc_trace_spans_total{result="dropped"} 2');
    expect(lines).toContain("svc_trace_spans_queued 1");
    expect(lines).toContain('svc_build_info{version="0.1.0",tool="demo",backend="local_interactive"} 1');
  });
});

test("later scrapes count on, each event once", async () => {
  using scratch = createScratch();
  const { samples, runPrompt } = openMeter(scratch);
  await runPrompt("one");
  await samples();
  await runPrompt("two", "failed");
  await samples();
  const lines = await samples();
  expect(lines).toContain('svc_requests_total{kind="submit_prompt",result="accepted"} 2');
  expect(lines).toContain('svc_requests_total{kind="submit_prompt",result="failed"} 1');
});

test("a later count of a turn takes the place of the one before, and a smaller one takes nothing back", async () => {
  using scratch = createScratch();
  const { samples, usage } = openMeter(scratch);
  usage("turn-1", 10);
  usage("turn-1", 25);
  usage("turn-2", 5);
  usage("turn-1", 20);
  const lines = await samples();
  expect(lines).toContain('svc_tokens_total{model="large",tokens="output"} 30');
  expect(lines).toContain('svc_tokens_total{model="large",tokens="input"} 200');
});

test("an event that another version wrote counts by its kind alone", async () => {
  using scratch = createScratch();
  const { log, samples } = openMeter(scratch);
  log.append("accepted", { request_id: 7, accepted_at_utc: "yesterday" });
  log.append("executing", { request_id: 7 });
  log.append("turn_usage", { usage: "all" });
  log.flush();
  const lines = await samples();
  expect(lines).toContain('svc_events_total{kind="turn_usage"} 1');
  expect(lines.filter((line) => line.startsWith("svc_tokens_total"))).toEqual([]);
});

test("requests are counted by route from the first scrape on, never by what a caller wrote", async () => {
  using scratch = createScratch();
  const { meter, samples } = openMeter(scratch);
  const app = new Elysia().get("/v1/requests/:request_id", () => "a request");
  const answer = meter.around(app);
  const ask = (path: string, method = "GET") => answer(new Request(`http://127.0.0.1${path}`, { method }));
  await ask("/v1/requests/before");
  await samples();
  await ask("/v1/requests/SECRET");
  await ask("/SECRET");
  await ask("/v1/requests/SECRET", "PROPFIND");
  const text = (await samples()).join("\n");
  const count = (method: string, route: string, code: number) =>
    `svc_http_request_seconds_count{method="${method}",route="${route}",status="${code}"} 1`;
  expect(text).toContain(count("GET", "/v1/requests/:request_id", 200));
  expect(text).toContain(count("GET", "none", 404));
  expect(text).toContain(count("OTHER", "/v1/requests/:request_id", 404));
  expect(text).not.toContain("SECRET");
});

test("the lag of the event stream is the time from an event to its reader", async () => {
  using scratch = createScratch();
  const { clock, log, meter, samples } = openMeter(scratch);
  await samples();
  log.append("gateway_started");
  log.flush();
  const [event] = log.readEvents({ afterSeq: 1, limit: 1 }).events;
  await clock.advance(2000);
  if (event) meter.streamed(event);
  expect(await samples()).toContain("svc_event_lag_seconds_sum 2");
});
