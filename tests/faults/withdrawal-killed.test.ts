import { afterAll, beforeAll, expect } from "bun:test";
import { createFaultFixture, type FaultAgent, type FaultFixture } from "../support/fault-fixture.ts";
import { drained, send } from "../support/fault-story.ts";
import { faultTest } from "../support/fault-table.ts";
import { until } from "../support/until.ts";

let fixture: FaultFixture;
beforeAll(async () => {
  fixture = await createFaultFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const submitted = (agent: FaultAgent) =>
  agent.log().flatMap((record) => (record.kind === "submitted" ? [record.text] : []));

const rows = {
  before: {
    area: "processes",
    fault: "A gateway dies before it has written that a prompt was withdrawn",
    outcome: "the prompt is kept and waits; nothing says that it was withdrawn",
    seen: "no answer to the withdrawal; the request is `accepted`",
    recovery: "withdraw it again: the next gateway takes it back, and it is never typed",
  },
  after: {
    area: "processes",
    fault: "A gateway dies after it has written that a prompt was withdrawn",
    outcome: "the prompt is never typed",
    seen: "`failed` with `outcome: withdrawn` and who withdrew it",
    recovery: "by itself; the same withdrawal again gets its answer",
  },
} as const;

for (const when of ["before", "after"] as const) {
  faultTest(
    `a prompt whose withdrawal a gateway died ${when} writing is withdrawn once and never typed`,
    rows[when],
    async () => {
      const agent = await fixture.launch(`killed-${when}`);
      const requests = [];
      {
        await using gateway = await agent.serve({
          kill: { label: "sql:request-withdrawn", when, nth: 1 },
        });
        const { client } = gateway;
        if (!client) throw new Error(await gateway.complaints);
        for (const prompt of ["SLOW 600000", "taken back", "kept\nFAST"])
          requests.push(await send(client, { kind: "submit_prompt", payload: { prompt } }));
        await until("the turn of the first", () =>
          agent.log().some((record) => record.kind === "turn_started"),
        );
        const params = { request_id: requests[1]?.requestId ?? "" };
        expect(await client.call("withdrawRequest", { params })).toMatchObject({ kind: "unreachable" });
        expect(await gateway.exited).toBe("SIGKILL");
      }
      await using gateway = await agent.serve();
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      const params = { request_id: requests[1]?.requestId ?? "" };
      const state = { before: "accepted", after: "failed" }[when];
      expect(await client.call("readRequest", { params })).toMatchObject({ body: { state } });
      expect(await client.call("withdrawRequest", { params })).toMatchObject({
        kind: "ok",
        body: { state: "failed", result_json: { outcome: "withdrawn", withdrawn_by: "person" } },
      });
      requests.push(await send(client, { kind: "interrupt" }));
      expect(await drained(client, agent)).toBeNull();
      await gateway.stop();
      expect(submitted(agent)).toEqual(["SLOW 600000", "kept\nFAST"]);
    },
    120_000,
  );
}
