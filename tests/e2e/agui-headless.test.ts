import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brokenRules, type StockClient, stockClients } from "../support/agui.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

let batch: HeadlessAgentFixture;
beforeAll(async () => {
  batch = await launchHeadless({ name: "gui" });
}, 120_000);
afterAll(() => batch[Symbol.asyncDispose](), 120_000);

const runs = () => `${batch.baseUrl()}/v1/ag-ui/runs`;
const idle = () =>
  until("an idle agent", async () => {
    const { body } = await batch.call("/v1/status");
    return body["active_execution"] === "idle" && body["queue_depth"] === 0;
  });

describe.each(stockClients)("$version and a headless agent", (client: StockClient) => {
  const at = stockClients.indexOf(client);
  const types = (events: readonly { type: string }[]) => events.map((event) => event.type);

  test("a run is reported piece by piece and ends with the outcome of its request", async () => {
    await idle();
    const arrived: number[] = [];
    const run = await client.run(runs(), {
      runId: `said-${at}`,
      prompt: "one two three four\nSLOW 2000",
      onEvent: ({ type }) => {
        if (type === "TEXT_MESSAGE_CONTENT") arrived.push(performance.now());
      },
    });
    expect([run.error, brokenRules(run.raw)]).toEqual([null, []]);
    expect(types(run.events)[0]).toBe("RUN_STARTED");
    expect(run.events.at(-1)).toMatchObject({
      type: "RUN_FINISHED",
      result: { gatewayRequestState: "completed", targetTransportFamily: "headless" },
    });
    expect(arrived.length).toBeGreaterThan(3);
    expect((arrived.at(-1) ?? 0) - (arrived[0] ?? 0)).toBeGreaterThan(200);
    const answers = run.messages.filter((message) => message.role === "assistant");
    expect(answers.map((message) => message.content)).toEqual(["You said: one two three four"]);
    expect(run.state).toMatchObject({ svc: { activeExecution: { requestAdmission: "open" } } });
    expect((await batch.call(`/v1/turns/said-${at}`)).body).toMatchObject({ status: "completed" });
  });

  test("tool calls, their results, hidden reasoning and warnings are reported", async () => {
    await idle();
    const prompt = "look\nTHINK the secret plan\nTOOL read\nTOOL write\nSTDERR careful\nUSAGE 3 4";
    const run = await client.run(runs(), { runId: `tools-${at}`, prompt });
    expect([run.error, brokenRules(run.raw)]).toEqual([null, []]);
    expect(run.raw).not.toContain('secret plan"}');
    const called = run.messages.flatMap((message) => {
      const { toolCalls = [] } = message as {
        toolCalls?: { function: { name: string; arguments: string } }[];
      };
      return toolCalls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
    });
    expect(called).toEqual([
      ["read", { target: "." }],
      ["write", { target: "." }],
    ]);
    const results = run.messages.filter((message) => message.role === "tool");
    expect(results.map((message) => message.content)).toEqual(["read done", "write done"]);
    const customs = run.events.filter((event) => event.type === "CUSTOM").map((event) => event["name"]);
    expect(customs).toEqual(expect.arrayContaining(["svc.reasoning_redacted", "svc.gateway.diagnostic"]));
    expect(run.events.find((event) => event["activityType"] === "svc.gateway.completion")).toMatchObject({
      content: { status: "success", usage: { input_tokens: 3, output_tokens: 4 } },
    });
  });

  test("a turn that fails ends as an error of the run", async () => {
    await idle();
    const run = await client.run(runs(), { runId: `fails-${at}`, prompt: "try\nERROR the model is away" });
    expect(brokenRules(run.raw)).toEqual([]);
    expect(run.events.at(-1)).toMatchObject({
      type: "RUN_ERROR",
      code: "svc_gateway_request_failed",
      message: expect.stringMatching(
        /^the run failed: the model is away \(see GET \/v1\/requests\/gwreq-\S+\)$/,
      ),
    });
  });

  test("a refused run rejects with the status and the gateway's reason", async () => {
    await idle();
    const again = await client.run(runs(), { runId: `said-${at}`, prompt: "again" });
    expect([again.error?.status, again.error?.payload]).toEqual([
      409,
      { detail: "this runId was seen before; use a new one" },
    ]);
    const empty = await client.run(runs(), { runId: `empty-${at}` });
    expect(empty.error?.status).toBe(422);
  });

  test("a client that leaves ends its stream and not the turn", async () => {
    await idle();
    const leave = new AbortController();
    await client.run(runs(), {
      runId: `left-${at}`,
      prompt: "goes on\nSLOW 4000",
      abort: leave.signal,
      onEvent: ({ type }) => {
        if (type === "TEXT_MESSAGE_START") leave.abort();
      },
    });
    expect((await batch.call(`/v1/turns/left-${at}`)).body).toMatchObject({ status: "active" });
    const busy = await client.run(runs(), { runId: `busy-${at}`, prompt: "too early" });
    expect(busy.error?.status).toBe(409);
    expect(await batch.ended(`left-${at}`)).toMatchObject({ status: "completed" });
  }, 120_000);

  test("an interrupt ends a run as an error", async () => {
    await idle();
    const prompt = `${"word ".repeat(30)}\nSLOW 60000`;
    const running = client.run(runs(), { runId: `stopped-${at}`, prompt });
    await until("its answer has begun", () =>
      batch.file(`stopped-${at}`, "stdout.jsonl")?.includes('"piece"'),
    );
    await batch.call("/v1/requests", { kind: "interrupt" });
    const run = await running;
    expect(brokenRules(run.raw)).toEqual([]);
    expect(run.events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "svc_gateway_request_failed" });
  });

  test("twenty viewers at once see a run change the state, and each is detached", async () => {
    await idle();
    const attached: string[] = [];
    const viewers = Array.from({ length: 20 }, (_, number) =>
      client.run(`${batch.baseUrl()}/v1/ag-ui/connect`, {
        runId: `viewer-${at}-${number}`,
        onEvent(event) {
          if (event.type !== "STATE_SNAPSHOT") return;
          const { svc } = event["snapshot"] as { svc: { connection: { connectionId: string } } };
          attached[number] = svc.connection.connectionId;
        },
      }),
    );
    await until("twenty viewers", () => attached.filter((id) => id).length === 20);
    const run = await client.run(runs(), { runId: `watched-${at}`, prompt: "be seen\nSLOW 1500" });
    expect(run.events.at(-1)?.type).toBe("RUN_FINISHED");
    await idle();
    for (const id of attached) {
      const path = `${batch.baseUrl()}/v1/ag-ui/connections/${id}`;
      const reply = await fetch(path, { method: "DELETE", proxy: false } as RequestInit);
      expect([reply.status, await reply.json()]).toMatchObject([200, { status: "detached", detached: true }]);
    }
    for (const viewer of await Promise.all(viewers)) {
      expect([viewer.error, brokenRules(viewer.raw)]).toEqual([null, []]);
      expect(viewer.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", result: { detached: true } });
      const seen = viewer.events
        .filter((event) => event.type === "STATE_SNAPSHOT")
        .map((event) => (event["snapshot"] as { svc: { activeExecution: { state: string } } }).svc)
        .map((svc) => svc.activeExecution.state);
      expect([seen[0], seen.includes("running")]).toEqual(["idle", true]);
    }
  }, 120_000);
});
