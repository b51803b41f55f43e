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
});
