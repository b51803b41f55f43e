import { afterAll, beforeAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stopAgent } from "../../src/services/fleet/stop-agent.ts";
import { createFaultFixture, type FaultFixture } from "../support/fault-fixture.ts";
import { drained, requestProblems, type Sent, send } from "../support/fault-story.ts";
import { faultTest } from "../support/fault-table.ts";

const entry = join(import.meta.dir, "../support/skewed-gateway.ts");
const hourMs = 3_600_000;

let fixture: FaultFixture;
beforeAll(async () => {
  fixture = await createFaultFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const row = {
  area: "machine",
  fault: "The clock jumps: an hour back, then a day forward, then back to what it was",
  outcome:
    "prompts are delivered once each and in order; requests and events keep their order; nothing waits for a clock",
  seen: "times as the clock told them; `seq` and the order of lists are not taken from the clock",
  recovery: "none is needed",
} as const;

faultTest(
  "a clock that jumps stops nothing, repeats nothing and reorders nothing",
  row,
  async () => {
    const agent = await fixture.launch("worker");
    const skew = join(fixture.tmux.folder, "skew");
    const sent: Sent[] = [];
    const prompts: string[] = [];
    await using gateway = await agent.serve({ command: [process.execPath, entry, skew] });
    const { client } = gateway;
    if (!client) throw new Error(await gateway.complaints);
    for (const jumpMs of [0, -hourMs, 24 * hourMs, 0]) {
      writeFileSync(skew, String(jumpMs));
      for (const nth of [1, 2]) {
        const prompt = `clock ${prompts.length + 1}, ${nth} after ${jumpMs}\nFAST`;
        prompts.push(prompt);
        sent.push(await send(client, { kind: "submit_prompt", payload: { prompt } }));
      }
      expect(await drained(client, agent, undefined, 60_000)).toBeNull();
    }
    const list = await client.call("listRequests", { query: { limit: 100 } });
    const ids = list.kind === "ok" ? list.body.requests.map((one) => one.request_id) : [];
    expect(ids).toEqual(sent.map((one) => one.requestId ?? "").reverse());
    expect(await gateway.stop()).toBe(0);
    expect(requestProblems(agent, sent, 0)).toEqual([]);
    const heard = agent.log().flatMap((one) => (one.kind === "submitted" ? [one.text] : []));
    expect(heard).toEqual(prompts);
    await stopAgent(fixture.world, agent);
  },
  180_000,
);
