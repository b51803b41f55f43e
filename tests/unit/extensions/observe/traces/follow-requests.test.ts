import { expect, test } from "bun:test";
import { notifierStoreOn } from "../../../../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase, requestStoreOn } from "../../../../../src/db/gateway/request-store.ts";
import type { EventKind } from "../../../../../src/protocol/events.ts";
import type { Evidence } from "../../../../../src/protocol/gateway.ts";
import { createEventLog } from "../../../../../src/services/diagnostics/event-log.ts";
import { createTraceControl } from "../../../../../src/services/extensions/observe/traces/trace-control.ts";
import { timestampNow } from "../../../../../src/system/clock.ts";
import { quietSteps } from "../../../../../src/system/steps.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import type { ReceivedSpan } from "../../../../support/otlp-receiver.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";

/** Which spans a gateway's queue and events become, over its restarts. */

function openQueue(scratch: Scratch, env: Record<string, string> = { OTEL_TRACES_EXPORTER: "otlp" }) {
  const clock = createFakeClock();
  const events = createEventLog({
    files: scratch.files,
    clock,
    path: scratch.path("events.jsonl"),
    onError(error) {
      throw error;
    },
  });
  const database = openGatewayDatabase({ path: ":memory:", clock, steps: quietSteps });
  const requests = requestStoreOn(database);
  const received: ReceivedSpan[] = [];
  let loaded = 0;
  /** A gateway's part; another one is a restart. */
  const openTraces = () =>
    createTraceControl({
      files: scratch.files,
      clock,
      events,
      requests,
      sessionRoot: scratch.folder,
      notifier: notifierStoreOn(database),
      env: { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
      log: { line: () => {} },
      network: {
        async fetch(_, init) {
          loaded += 1;
          const { resourceSpans } = JSON.parse(new TextDecoder().decode(init.body as Uint8Array)) as {
            resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
          };
          received.push(
            ...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
          );
          return new Response("{}");
        },
      },
      agent: { agentId: "a", agentName: "worker", tool: "demo", version: "1" },
    });
  const now = () => timestampNow(clock);
  const say = (kind: EventKind, fields: Record<string, unknown>) => {
    events.append(kind, fields);
    events.flush();
  };
  return {
    clock,
    openTraces,
    received,
    say,
    requests: () => loaded,
    names: () => received.map(({ name }) => name),
    accept: (requestId: string) =>
      requests.insertAccepted({
        requestId,
        kind: "submit_prompt",
        lane: "turn_boundary",
        payload: { prompt: "p" },
        acceptedAtUtc: now(),
        epoch: 1,
      }),
    run: (requestId: string) =>
      requests.transition("x", [{ requestId, from: "accepted", to: "running", startedAtUtc: now() }]),
    prove(requestId: string, step: Evidence["step"]) {
      const evidence = { step, at_utc: now(), proof: "p" };
      requests.addEvidence("x", requestId, [evidence]);
      say("request_evidence", { request_id: requestId, ...evidence });
    },
    complete(requestId: string) {
      requests.transition("x", [{ requestId, from: "running", to: "completed", finishedAtUtc: now() }]);
      say("completed", { request_id: requestId });
    },
  };
}

test("a request is exported when it ends, and its turn when that ends", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch);
  const traces = queue.openTraces();
  await traces.start();
  await queue.accept("r");
  queue.say("request_waiting", { request_id: "r", reason: "not_ready", since_utc: "2026-01-01T00:00:00Z" });
  queue.run("r");
  queue.prove("r", "submitted");
  await queue.clock.advance(5000);
  expect(queue.names()).toEqual([]);
  queue.complete("r");
  await queue.clock.advance(5000);
  expect(queue.names()).toEqual(["request", "queue", "deliver"]);
  expect(queue.received[1]?.events?.map(({ name, attributes }) => [name, attributes])).toEqual([
    ["waiting", [{ key: "svc.reason", value: { stringValue: "not_ready" } }]],
  ]);
  queue.prove("r", "turn_ended");
  await queue.clock.advance(5000);
  expect(queue.names()).toEqual(["request", "queue", "deliver", "turn"]);
  expect(traces.counts()).toEqual({ exported: 4, dropped: 0, rejected: 0, queued: 0 });
  await traces.stop();
});

test("a turn that ends with its request is exported once, whichever is heard first", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch);
  const traces = queue.openTraces();
  await traces.start();
  await queue.accept("r");
  queue.run("r");
  for (const step of ["submitted", "turn_ended"] as const) queue.prove("r", step);
  queue.complete("r");
  queue.say("request_evidence", { request_id: "r", step: "turn_ended" });
  await traces.stop();
  expect(queue.names().filter((name) => name === "turn")).toHaveLength(1);
});

test("a gateway that restarts goes on with the same trace", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch);
  const first = queue.openTraces();
  await first.start();
  await queue.accept("r");
  queue.run("r");
  queue.prove("r", "submitted");
  queue.complete("r");
  await first.stop();
  const second = queue.openTraces();
  await second.start();
  queue.prove("r", "turn_ended");
  await second.stop();
  expect(queue.names()).toEqual(["request", "queue", "deliver", "turn"]);
  const [root, , , turn] = queue.received;
  expect([turn?.traceId, turn?.parentSpanId]).toEqual([root?.traceId, root?.spanId]);
});

test("what happened between the making and the start of it is not lost", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch);
  await queue.accept("before");
  queue.run("before");
  queue.complete("before");
  const traces = queue.openTraces();
  await queue.accept("r");
  queue.run("r");
  queue.complete("r");
  await traces.start();
  await traces.stop();
  expect(queue.received.filter(({ name }) => name === "request")).toHaveLength(1);
});

test("while it is off nothing is sent", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch, {});
  const traces = queue.openTraces();
  await traces.start();
  await queue.accept("r");
  queue.run("r");
  queue.complete("r");
  await traces.stop();
  expect([queue.requests(), traces.counts()]).toEqual([0, null]);
});

test("a variable that is wrong keeps traces off, not the gateway", async () => {
  using scratch = createScratch();
  const queue = openQueue(scratch, { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" });
  const traces = queue.openTraces();
  await traces.start();
  expect(traces.counts()).toBeNull();
});
