import { describe, expect, test } from "bun:test";
import { createEventSource } from "../../src/services/fleet/event-stream.ts";
import { type HostFleet, startHostFleet } from "../support/host-fleet.ts";
import { someAtOnce } from "../support/some-at-once.ts";
import { timeUntil } from "../support/until.ts";

const hostNames = [1, 2, 3, 4, 5].map((number) => `build-${number}`);
const agentsOfHost = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `agent-${number}`);
const heartbeatMs = 1000;
/** An answer of the list, on a machine that has 40 agents to run besides. */
const lookMs = 300;

describe("hosts of a network", () => {
  test("40 agents of 5 hosts are listed and driven, through a partition and the broker's restart", async () => {
    await using fleet = await startHostFleet({ hosts: hostNames });
    const { server, hosts } = fleet;
    const starts = hosts.flatMap((host) => agentsOfHost.map((name) => ({ host, name })));
    const startMs = performance.now();
    await someAtOnce(starts, 6, ({ host, name }) => host.launch(name));
    const all = starts.map(({ host, name }) => `${name}@${host.name}`);
    await timeUntil("all to be listed", async () => (await fleet.listed()).size === 40);
    const launchedMs = performance.now() - startMs;
    const listed = await fleet.listed();
    expect([...listed.keys()].sort()).toEqual([...all].sort());
    expect(new Set([...listed.values()].map((agent) => agent["liveness"]))).toEqual(new Set(["alive"]));

    // An agent of every host is prompted, waited for and followed.
    await Promise.all(
      hosts.map((host) => promptAndFollow(fleet, `agent-1@${host.name}`, `from ${host.name}`)),
    );

    const [first, second, third] = hosts;
    if (!first || !second || !third) throw new Error("too few hosts");
    await third.launch("worker");
    const visibleMs = await timeUntil("the later agent to be listed", async () =>
      (await fleet.listed()).has("worker@build-3"),
    );
    expect(visibleMs).toBeLessThan(1000);
    expect((await server.ask("/svc/agents/worker")).body).toMatchObject({ agent_name: "worker@build-3" });
    const ambiguous = await server.ask("/svc/agents/agent-1");
    expect([ambiguous.status, ambiguous.body["agent_ids"]]).toEqual([
      409,
      hostNames.map((host) => expect.stringContaining(`@${host}`)),
    ]);

    // A partition.
    third.network.cut();
    const shownMs = await timeUntil("the partition to be shown", async () =>
      isAway((await fleet.listed()).get("worker@build-3")),
    );
    expect(shownMs).toBeLessThan(3 * heartbeatMs + lookMs);
    const now = await fleet.listed();
    expect(now.size).toBe(41);
    for (const [name, agent] of now) {
      expect([name, isAway(agent), agent["liveness"]]).toEqual([
        name,
        name.endsWith("@build-3"),
        name.endsWith("@build-3") ? "unknown" : "alive",
      ]);
    }
    const refused = await server.ask("/svc/agents/worker/requests", prompt("SAY nobody"));
    expect([refused.status, refused.body["detail"]]).toEqual([
      503,
      expect.stringContaining("nothing was sent"),
    ]);
    await promptAndFollow(fleet, "agent-2@build-1", "the others work");
    third.network.heal();
    const healedMs = await timeUntil(
      "the partition to be over",
      async () => (await fleet.listed()).get("worker@build-3")?.["liveness"] === "alive",
    );

    // The broker ends at once and comes back.
    const restartMs = performance.now();
    await fleet.bus.restart();
    await timeUntil("every host to answer", async () => {
      const answers = await Promise.all(
        hosts.map(({ name }) => server.ask(`/svc/agents/agent-1@${name}/state`)),
      );
      return answers.every(({ status }) => status === 200);
    });
    await timeUntil("every host to be live", async () =>
      [...(await fleet.listed()).values()].every((agent) => agent["liveness"] === "alive"),
    );
    const recoveredMs = performance.now() - restartMs;
    console.log(JSON.stringify({ launchedMs, visibleMs, shownMs, healedMs, recoveredMs }));
    expect(recoveredMs).toBeLessThan(5000);
    await promptAndFollow(fleet, "worker", "after the restart");
  }, 180_000);
});

const prompt = (text: string) => ({ kind: "submit_prompt", payload: { prompt: text } });

function isAway(agent: Record<string, unknown> | undefined): boolean {
  return typeof agent?.["host_away_since_utc"] === "string" && agent["has_gateway"] === false;
}

/** Waits until the agent is ready, prompts it, and follows its events until the request is completed. */
async function promptAndFollow({ server }: HostFleet, agent: string, text: string): Promise<void> {
  const path = `/svc/agents/${agent}`;
  const ready = await server.ask(`${path}/gateway/tui/wait?for=ready&timeout_seconds=30`);
  expect(ready).toMatchObject({ status: 200, body: { satisfied: true } });
  const sent = await server.ask(`${path}/gateway/requests`, prompt(`SAY ${text}`));
  expect(sent.status).toBe(202);
  const leave = new AbortController();
  const events = await server.request(`${path}/gateway/events?after=0`, { signal: leave.signal });
  const source = createEventSource();
  const reader = events.body?.getReader();
  for (let isDone = false; !isDone; ) {
    const part = await reader?.read();
    if (!part || part.done) throw new Error("the stream of events ended");
    isDone = source
      .push(part.value)
      .some(
        (event) =>
          event.kind === "completed" && JSON.stringify(event).includes(String(sent.body["request_id"])),
      );
  }
  leave.abort();
  const record = await server.ask(`${path}/gateway/requests/${sent.body["request_id"]}`);
  expect(record.body).toMatchObject({ state: "completed" });
  const seen = await server.ask(`${path}/state/detail`);
  expect(JSON.stringify(seen.body)).toContain(text);
}
