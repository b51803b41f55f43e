import { expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";

test("an alias that is one agent's id and another's name ends neither, and what names each of them does", async () => {
  await using fixture = createCliFixture();
  await using at = await startCoordinator(fixture);
  const launch = ["agents", "launch", "--tool", "demo", "--no-gateway", "--agent-name"];
  const alice = await fixture.mgr(...launch, "alice", "--agent-id", "bob", "--json");
  const bob = await fixture.mgr(...launch, "bob", "--agent-id", "id-of-bob", "--json");
  expect([alice.exitCode, bob.exitCode]).toEqual([0, 0]);

  const stopped = await at.ask("/svc/agents/bob/stop", null);
  expect([stopped.status, stopped.body]).toEqual([
    409,
    { detail: expect.stringContaining("2 agents are known as"), agent_ids: ["bob", "id-of-bob"] },
  ]);
  const refused = await fixture.mgr("agents", "single", "--agent-name", "bob", "stop", "--json");
  expect([refused.exitCode, refused.error()]).toEqual([
    1,
    {
      error: "ambiguous",
      detail: expect.stringMatching(/`--agent-id id-of-bob` is the agent named "bob".*`--agent-id bob`/),
      agent_ids: ["bob", "id-of-bob"],
    },
  ]);
  expect(await fixture.sessions()).toHaveLength(2);

  // Each of the two ways out that the refusals name.
  const sessionOfAlice = /"alice" with the id bob, reached as (\S+?);/.exec(
    String(stopped.body["detail"]),
  )?.[1];
  expect((await at.ask(`/svc/agents/${sessionOfAlice}/stop`, null)).status).toBe(200);
  expect(await fixture.sessions()).toEqual([String(bob.json()["tmux_session_name"])]);
  expect((await fixture.mgr("agents", "single", "--agent-id", "id-of-bob", "stop")).exitCode).toBe(0);
  expect(await fixture.sessions()).toEqual([]);
}, 120_000);

test("mail routes of an agent without a mailbox are 503 until it has one", async () => {
  await using fixture = createCliFixture();
  await using at = await startCoordinator(fixture);
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--gateway-background"];
  expect((await fixture.mgr(...launch)).exitCode).toBe(0);
  const statuses = async () => [
    (await at.ask("/svc/agents/worker/mail/status")).status,
    (await at.ask("/svc/agents/worker/mail/list", {})).status,
    (await at.ask("/svc/agents/worker/mail/resolve-live")).status,
    (await at.ask("/svc/agents/worker/gateway/mail-notifier")).status,
  ];
  expect(await statuses()).toEqual([503, 503, 503, 503]);
  const register = ["agents", "single", "--agent-name", "worker", "mailbox", "register"];
  expect((await fixture.mgr(...register)).exitCode).toBe(0);
  expect(await statuses()).toEqual([200, 200, 200, 200]);
}, 120_000);
