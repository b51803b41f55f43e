import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import { brokenRules, type StockClient, stockClients } from "../support/agui.ts";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { chooseOne } from "../support/matrix.ts";
import { until } from "../support/until.ts";

let agent: CliAgent;
beforeAll(async () => {
  agent = await launched();
}, 120_000);
afterAll(() => agent[Symbol.asyncDispose](), 120_000);

const runs = () => `${agent.baseUrl}/v1/ag-ui/runs`;

async function call(path: string, body?: object): Promise<Record<string, unknown>> {
  const post = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const reply = await fetch(agent.baseUrl + path, { ...post, proxy: false } as RequestInit);
  return (await reply.json()) as Record<string, unknown>;
}

const idle = () =>
  until("an idle agent", async () => {
    const status = await call("/v1/status");
    return status["queue_depth"] === 0 && status["terminal_surface_eligibility"] === "ready";
  });

describe.each(chooseOne(stockClients, ({ version }) => version))(
  "$version and an agent in a terminal",
  (client: StockClient) => {
    const at = stockClients.indexOf(client);

    test("a run is shown as an activity and ends with the agent's words since", async () => {
      await idle();
      const prompt = `say it ${at}\nSLOW 4000`;
      const run = await client.run(runs(), { runId: `said-${at}`, prompt });
      expect([run.error, brokenRules(run.raw)]).toEqual([null, []]);
      expect(agent.heard().at(-1)).toBe(prompt);
      const activities = run.events.filter((event) => event.type === "ACTIVITY_SNAPSHOT");
      const contents = activities.map((event) => event["content"] as Record<string, unknown>);
      expect(contents[0]).toMatchObject({ requestState: expect.any(String) });
      expect(contents.map((content) => content["turnPhase"])).toContain("active");
      expect(contents.at(-1)).toMatchObject({ requestState: "completed", turnPhase: "ready" });
      expect(run.events.at(-1)).toMatchObject({
        type: "RUN_FINISHED",
        result: { gatewayRequestState: "completed", targetTransportFamily: "tui" },
      });
      const [answer, ...others] = run.messages.filter((message) => message.role === "assistant");
      expect(others).toEqual([]);
      expect(String(answer?.content)).toContain(`say it ${at}`);
      expect(String(answer?.content)).toContain("done in");
      if (at > 0) expect(String(answer?.content)).not.toContain("say it 0");
    });

    test("what the agent asks a person is shown while the run waits for the answer", async () => {
      await idle();
      let asked: Record<string, unknown> | null = null;
      const running = client.run(runs(), {
        runId: `asks-${at}`,
        prompt: "MENU Go on?",
        onEvent({ type, ...event }) {
          const content = (event["content"] ?? {}) as { awaitingDecision?: Record<string, unknown> };
          if (type === "ACTIVITY_SNAPSHOT" && content.awaitingDecision) asked = content.awaitingDecision;
        },
      });
      // The first look may meet a screen of which only the last row is painted.
      const question = await until("the whole question", () => {
        const seen = asked as { options: { text: string }[] } | null;
        return seen !== null && seen.options.length > 0 ? seen : null;
      });
      expect(question.options.map((option) => option.text)).toEqual(["Yes", "No", "Always"]);
      await call("/v1/control/tui/decide", { option: "Yes" });
      const run = await running;
      expect([run.error, brokenRules(run.raw)]).toEqual([null, []]);
      expect(run.events.at(-1)?.type).toBe("RUN_FINISHED");
    }, 120_000);

    test("a client that leaves ends its stream and not the agent's turn", async () => {
      await idle();
      const leave = new AbortController();
      await client.run(runs(), {
        runId: `left-${at}`,
        prompt: "goes on\nSLOW 4000",
        abort: leave.signal,
        onEvent({ type, ...event }) {
          const { turnPhase } = (event["content"] ?? {}) as { turnPhase?: string };
          if (type === "ACTIVITY_SNAPSHOT" && turnPhase === "active") leave.abort();
        },
      });
      await idle();
      const { requests } = (await call("/v1/requests?limit=1")) as { requests: RequestRecord[] };
      expect(requests[0]).toMatchObject({ turn_id: `left-${at}`, state: "completed" });
      expect(requests[0]?.evidence.map((one) => one.step)).toContain("turn_ended");
    }, 120_000);
  },
);

test("an agent whose program ends in the middle fails its run", async () => {
  await idle();
  const run = await stockClients[0]?.run(runs(), { runId: "crash", prompt: "CRASH" });
  expect([run?.error, brokenRules(run?.raw ?? "")]).toEqual([null, []]);
  expect(run?.events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "svc_gateway_request_failed" });
});
