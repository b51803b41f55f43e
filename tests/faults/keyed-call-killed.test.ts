import { afterAll, beforeAll, expect } from "bun:test";
import { createFaultFixture, type FaultFixture } from "../support/fault-fixture.ts";
import { faultTest } from "../support/fault-table.ts";
import { until } from "../support/until.ts";

let fixture: FaultFixture;
beforeAll(async () => {
  fixture = await createFaultFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const key = { idempotencyKey: "key-1" };
const unknown = { kind: "refused", status: 504 };

faultTest(
  "keys whose answer a gateway died before keeping are not pressed again",
  {
    area: "processes",
    fault:
      "A gateway dies after it has pressed keys and before it has kept the answer to their Idempotency-Key",
    outcome: "the keys were pressed once; the same call again presses nothing",
    seen: "no answer, then 504 to the same call again",
    recovery: "look at the terminal, and use another key",
  },
  async () => {
    const agent = await fixture.launch("keys-killed");
    const body = { sequence: "typed once" };
    {
      await using gateway = await agent.serve({ kill: { label: "sql:key-answer", when: "before", nth: 1 } });
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      expect(await client.call("sendKeys", { body, ...key })).toMatchObject({ kind: "unreachable" });
      expect(await gateway.exited).toBe("SIGKILL");
    }
    await using gateway = await agent.serve();
    const { client } = gateway;
    if (!client) throw new Error(await gateway.complaints);
    expect(await client.call("sendKeys", { body, ...key })).toMatchObject(unknown);
    // The composer holds what was typed once; the next keys stand behind it.
    await client.call("sendKeys", { body: { sequence: " and this<[Enter]>" } });
    await until("the keys to be submitted", () => agent.log().some(({ kind }) => kind === "submitted"));
    expect(agent.log().flatMap((record) => (record.kind === "submitted" ? [record.text] : []))).toEqual([
      "typed once and this",
    ]);
  },
  120_000,
);

for (const { when, left, again } of [
  { when: "before", left: [], again: { kind: "ok" } },
  { when: "after", left: ["look again"], again: unknown },
] as const) {
  faultTest(
    `a durable reminder with a key whose gateway died ${when} writing it is there once`,
    {
      area: "processes",
      fault: `A gateway dies ${when} it has written a durable reminder that was created with an Idempotency-Key`,
      outcome: when === "before" ? "neither the reminder nor its key is there" : "both are there",
      seen: "no answer to the call",
      recovery:
        when === "before"
          ? "make the same call again: the reminder is created once"
          : "the same call again gets 504 and creates nothing; the list shows the reminder",
    },
    async () => {
      const agent = await fixture.launch(`reminder-killed-${when}`);
      const reminder = {
        mode: "one_off",
        title: "look again",
        prompt: "Look again",
        ranking: 0,
        start_after_seconds: 3600,
        durable: true,
      } as const;
      const body = { reminders: [reminder] };
      {
        await using gateway = await agent.serve({ kill: { label: "sql:reminders", when, nth: 1 } });
        const { client } = gateway;
        if (!client) throw new Error(await gateway.complaints);
        expect(await client.call("createReminders", { body, ...key })).toMatchObject({ kind: "unreachable" });
        expect(await gateway.exited).toBe("SIGKILL");
      }
      await using gateway = await agent.serve();
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      const titles = async () => {
        const list = await client.call("listReminders", {});
        return list.kind === "ok" ? list.body.reminders.map(({ title }) => title) : list;
      };
      expect(await titles()).toEqual([...left]);
      expect(await client.call("createReminders", { body, ...key })).toMatchObject(again);
      expect(await titles()).toEqual(["look again"]);
    },
    120_000,
  );
}
