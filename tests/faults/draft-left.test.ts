import { afterAll, beforeAll, describe, expect } from "bun:test";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { createFaultFixture, type FaultAgent, type FaultFixture } from "../support/fault-fixture.ts";
import { drained, requestProblems, type Sent, send } from "../support/fault-story.ts";
import { faultTest } from "../support/fault-table.ts";
import { until } from "../support/until.ts";

let fixture: FaultFixture;
beforeAll(async () => {
  fixture = await createFaultFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const first = "typed and never sent\nFAST";

/** An agent whose gateway died after it had typed `first` and before it pressed Enter. */
async function leftWithDraft(name: string) {
  const agent = await fixture.launch(name);
  await using gateway = await agent.serve({ kill: { label: "pane.keys", when: "before", nth: 1 } });
  if (!gateway.client) throw new Error(await gateway.complaints);
  const sent = [
    await send(gateway.client, { kind: "submit_prompt", payload: { prompt: first } }),
    await send(gateway.client, { kind: "submit_prompt", payload: { prompt: "next\nFAST" } }),
  ];
  expect(await gateway.exited).toBe("SIGKILL");
  await until("the draft", async () => (await agent.screen()).includes("typed and never sent"));
  return { agent, sent };
}

const submitted = (agent: FaultAgent) =>
  agent.log().flatMap((record) => (record.kind === "submitted" ? [record.text] : []));

async function recordOf(client: GatewayClient, one: Sent | undefined) {
  const reply = await client.call("readRequest", { params: { request_id: one?.requestId ?? "" } });
  return reply.kind === "ok" ? reply.body : null;
}

describe("a gateway that died between typing and Enter", () => {
  const alone = {
    area: "processes",
    fault: "A gateway dies between typing a prompt and Enter",
    outcome: "the text is never sent; the composer is cleared of it",
    seen: "`failed` with `outcome: unknown` and the proof that its text stood unsent",
    recovery: "the next gateway clears it and goes on with the queue",
  } as const;

  faultTest(
    "its draft is taken back by the next one, which says so, and the queue goes on",
    alone,
    async () => {
      const { agent, sent } = await leftWithDraft("alone");
      await using gateway = await agent.serve();
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      expect(await drained(client, agent)).toBeNull();
      expect(await recordOf(client, sent[0])).toMatchObject({
        state: "failed",
        result_json: { outcome: "unknown" },
        evidence: expect.arrayContaining([
          expect.objectContaining({
            step: "settled",
            proof: "its text was unsent in the composer and was cleared",
          }),
        ]),
      });
      expect(submitted(agent)).toEqual(["next\nFAST"]);
      await gateway.stop();
      expect(requestProblems(agent, sent)).toEqual([]);
    },
    120_000,
  );

  const shared = {
    area: "processes",
    fault: "A gateway dies between typing and Enter, and a person goes on with that text",
    outcome: "the draft is left alone and nothing is typed into it",
    seen: "the queue waits and says `editing_input=yes`",
    recovery: "the person sends or clears the draft; the queue goes on",
  } as const;

  faultTest(
    "a draft that a person went on with is left alone, and nothing is typed into it",
    shared,
    async () => {
      const { agent, sent } = await leftWithDraft("shared");
      const pane = agent.manifest.tmux.primary_pane_id ?? "";
      await fixture.tmux.run("send-keys", "-t", pane, "-l", "--", " and mine");
      await until("the person's words", async () => (await agent.screen()).includes("and mine"));
      await using gateway = await agent.serve();
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      const waiting = await until("the reason of the wait", async () => {
        const reply = await client.call("status", {});
        return reply.kind === "ok" && reply.body.waiting;
      });
      expect(waiting).toMatchObject({
        reason: "not_ready",
        detail: expect.stringContaining("editing_input=yes"),
      });
      expect(await recordOf(client, sent[0])).toMatchObject({
        state: "failed",
        error_detail: expect.stringContaining("the composer holds another draft, which was left alone"),
      });
      expect(await agent.screen()).toContain("and mine");
      expect(submitted(agent)).toEqual([]);

      await fixture.tmux.run("send-keys", "-t", pane, "C-u");
      expect(await drained(client, agent)).toBeNull();
      expect(submitted(agent)).toEqual(["next\nFAST"]);
      await gateway.stop();
      expect(requestProblems(agent, sent)).toEqual([]);
    },
    120_000,
  );
});
