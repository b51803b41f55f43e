import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { launchHeadless } from "../support/headless-fixture.ts";
import {
  attributesOf,
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../support/otlp-receiver.ts";
import { sparePorts } from "../support/spare-ports.ts";
import { until } from "../support/until.ts";

/** Requests as traces, which the receiver of the OpenTelemetry collector accepts. */

let receiver: OtlpReceiver;

beforeAll(async () => {
  const [port = 0] = await sparePorts(1);
  receiver = await startOtlpReceiver(port);
}, 600_000);

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
});

const traceIdOf = (requestId: string) =>
  new Bun.CryptoHasher("sha256").update(requestId).digest("hex").slice(0, 32);
const nanos = (text: string | null | undefined) => `${Date.parse(text ?? "")}000000`;

/** The spans of a request once those of these names are there, by name. */
function traceOf(requestId: string, ...names: string[]): Promise<Record<string, ReceivedSpan>> {
  return until(`the trace of ${requestId} with ${names.join(", ")}`, () => {
    const spans = receiver.spans().filter(({ traceId }) => traceId === traceIdOf(requestId));
    const byName = Object.fromEntries(spans.map((span) => [span.name, span]));
    return names.every((name) => byName[name]) && byName;
  });
}

const timesOf = (span: ReceivedSpan | undefined) => [span?.startTimeUnixNano, span?.endTimeUnixNano];

function agentOf(fixture: CliFixture, name: string) {
  const single = (...words: string[]) =>
    fixture.mgr("agents", "single", "--agent-name", name, ...words, "--json");
  return {
    single,
    record: async (id: string) => (await single("requests", "show", id)).json() as unknown as RequestRecord,
    async newest() {
      const { requests } = (await single("requests", "list")).json() as unknown as {
        requests: RequestRecord[];
      };
      return requests[0];
    },
  };
}

test("a prompt and its turn are one trace with the times of the record", async () => {
  await using fixture = createCliFixture();
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "traced"];
  expect((await fixture.mgr(...launch, "--otlp-endpoint", receiver.baseUrl)).exitCode).toBe(0);
  const { single, record } = agentOf(fixture, "traced");
  const submitted = await single("prompt", "--prompt", "the secret of the sphinx");
  expect(submitted.exitCode).toBe(0);
  const requestId = String(submitted.json()["request_id"]);
  const spans = await traceOf(requestId, "request", "queue", "deliver", "turn");
  const { accepted_at_utc, started_at_utc, finished_at_utc, evidence } = await record(requestId);
  const step = (name: string) => nanos(evidence.find((one) => one.step === name)?.at_utc);
  expect(timesOf(spans["request"])).toEqual([nanos(accepted_at_utc), nanos(finished_at_utc)]);
  expect(timesOf(spans["queue"])).toEqual([nanos(accepted_at_utc), nanos(started_at_utc)]);
  expect(timesOf(spans["deliver"])).toEqual([nanos(started_at_utc), step("submitted")]);
  expect(spans["deliver"]?.events?.map(({ name, timeUnixNano }) => [name, timeUnixNano])).toEqual([
    ["typed", step("typed")],
    ["submitted", step("submitted")],
  ]);
  expect(timesOf(spans["turn"])).toEqual([step("turn_started"), step("turn_ended")]);
  expect(spans["turn"]?.parentSpanId).toBe(spans["request"]?.spanId ?? "");
  expect(receiver.resources()[0]).toMatchObject({
    "service.name": "svc-gateway",
    "svc.agent.name": "traced",
  });
  expect(receiver.text()).not.toContain("sphinx");
  expect(receiver.text()).not.toContain(fixture.folder);
}, 120_000);

test("mail that woke the agent is in the trace of the wake-up", async () => {
  await using fixture = createCliFixture();
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "woken", "--mailbox-root"];
  const trace = ["--mailbox", "--otlp-endpoint", receiver.baseUrl];
  expect((await fixture.mgr(...launch, join(fixture.folder, "mail"), ...trace)).exitCode).toBe(0);
  const { single, newest } = agentOf(fixture, "woken");
  const posted = await single(
    "mail",
    "post",
    "--subject",
    "riddle of the sphinx",
    "--body-content",
    "four legs",
  );
  expect(posted.exitCode).toBe(0);
  expect((await single("gateway", "mail-notifier", "enable", "--interval-seconds", "3600")).exitCode).toBe(0);
  const wake = await until("the wake-up", async () => {
    const request = await newest();
    return request?.request_kind === "mail_notifier_prompt" ? request : null;
  });
  const spans = await traceOf(wake.request_id, "request", "turn", "mail");
  const { request, mail } = spans;
  expect(request?.links?.map(({ spanId }) => spanId)).toEqual([mail?.spanId ?? ""]);
  expect(mail?.endTimeUnixNano).toBe(request?.startTimeUnixNano ?? "");
  expect(BigInt(mail?.startTimeUnixNano ?? 0)).toBeLessThan(BigInt(mail?.endTimeUnixNano ?? 0));
  expect(attributesOf(mail?.attributes)["messaging.message.id"]).toStartWith("filesystem:");
  for (const word of ["sphinx", "four legs"]) expect(receiver.text()).not.toContain(word);
}, 120_000);

test("a turn that outlives its gateway ends in the trace that began, as OTLP JSON by standard variables", async () => {
  const fixture = createCliFixture();
  Object.assign(fixture.env, {
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.baseUrl,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_SERVICE_NAME: "night-shift",
  });
  await using agent = await launchHeadless({ fixture });
  const requestId = await agent.submit("long", "SLOW 4000");
  await agent.running("long");
  fixture.kill(agent.gatewayPid());
  await agent.revive();
  const record = await agent.settled(requestId);
  expect(record.state).toBe("completed");
  const spans = await traceOf(requestId, "request", "queue", "deliver", "turn");
  expect(timesOf(spans["request"])).toEqual([nanos(record.accepted_at_utc), nanos(record.finished_at_utc)]);
  expect(attributesOf(spans["turn"]?.attributes)["svc.turn.id"]).toBe("long");
  expect(receiver.resources().map((one) => one["service.name"])).toContain("night-shift");
}, 120_000);

test("a collector that is gone costs an agent nothing, and the metrics say so", async () => {
  await using fixture = createCliFixture();
  const [port] = await sparePorts(1);
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "alone"];
  const endpoint = ["--otlp-endpoint", `http://127.0.0.1:${port}`];
  expect((await fixture.mgr(...launch, ...endpoint)).exitCode).toBe(0);
  const { single } = agentOf(fixture, "alone");
  expect((await single("prompt", "--prompt", "hello", "--wait")).exitCode).toBe(0);
  const { gateway_port } = (await single("gateway", "status")).json();
  const scrape = async () =>
    (await fetch(`http://127.0.0.1:${gateway_port}/metrics`, { proxy: false } as RequestInit)).text();
  await until("spans wait", async () => /^svc_trace_spans_queued [1-9]/m.test(await scrape()));
  expect(await scrape()).toContain('svc_trace_spans_total{result="exported"} 0');
  const startMs = performance.now();
  expect((await single("gateway", "detach")).exitCode).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(10_000);
  const attach = ["gateway", "attach", "--otlp-endpoint"];
  const wrong = await single(...attach, "localhost:4318");
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("http://localhost:4318")]);
  expect((await single(...attach, "none")).exitCode).toBe(0);
  const again = (await single("gateway", "status")).json();
  const text = await (
    await fetch(`http://127.0.0.1:${again["gateway_port"]}/metrics`, { proxy: false } as RequestInit)
  ).text();
  expect(text).not.toContain("svc_trace_spans");
  expect((await single("gateway", "detach")).exitCode).toBe(0);
  Object.assign(fixture.env, { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });
  const impossible = await single(...attach, receiver.baseUrl);
  expect([impossible.exitCode, impossible.stderr]).toEqual([
    0,
    expect.stringContaining('no traces are exported: OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported'),
  ]);
}, 120_000);
