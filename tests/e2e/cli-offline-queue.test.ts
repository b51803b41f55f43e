import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";

/** One prompt that runs and two that wait; the ids of those two, oldest first. */
async function withWaiting(at: CliAgent): Promise<string[]> {
  await at.ready();
  await at.type(`${one} prompt`, "--prompt", "SLOW 600000");
  await at.busy();
  const ids: string[] = [];
  for (const text of ["first", "second"]) {
    const run = await at.type(`${one} prompt --json`, "--prompt", text);
    ids.push(String(run.json()["request_id"]));
  }
  return ids;
}

async function killGateway(at: CliAgent): Promise<void> {
  const pid = at.gatewayPid();
  at.fixture.kill(pid);
  await until("its end", () => !at.fixture.alive(pid));
}

const status = async (at: CliAgent) => (await at.type(`${one} gateway status --json`)).json();

interface Listed {
  requests: { request_id: string; state: string; waiting?: { reason: string; detail: string } }[];
}

for (const end of ["killed", "detached"] as const) {
  test(`what waits is shown where the gateway was ${end}`, async () => {
    await using at = await launched("--gateway-background");
    const [first = "", second = ""] = await withWaiting(at);
    await (end === "killed" ? killGateway(at) : at.type(`${one} gateway detach`));
    const folder = join(at.sessionRoot, "gateway");
    const before = readdirSync(folder);
    expect(await status(at)).toMatchObject({
      gateway_health: "not_attached",
      queue_depth: 2,
      managed_agent_recovery: "idle",
      managed_agent_instance_epoch: 1,
    });
    const list = await at.type(`${one} requests list --json`);
    expect(list).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`svc-mgr ${one} gateway attach`),
    });
    const { requests } = list.json() as unknown as Listed;
    expect(requests.map(({ request_id, state }) => [request_id, state]).slice(0, 2)).toEqual([
      [second, "accepted"],
      [first, "accepted"],
    ]);
    expect(requests[1]?.waiting).toMatchObject({ reason: "no_gateway" });
    expect((await at.type(`${one} requests show --json`, first)).json()).toMatchObject({ state: "accepted" });
    expect(await at.type(`${one} requests show`, "gwreq-none")).toMatchObject({ exitCode: 1 });
    expect(at.file("gateway", "state.json")).toMatchObject({ queue_depth: 2 });
    const { agents } = (await at.fixture.mgr("agents", "list", "--json")).json() as {
      agents: Record<string, unknown>[];
    };
    expect(agents[0]).toMatchObject({ queue_depth: 2 });
    // Readers leave nothing beside it.
    expect(readdirSync(folder)).toEqual(before);
  }, 120_000);
}

test("a queue that waits for an operator says so without a gateway, also to the coordinator", async () => {
  await using at = await launched("--gateway-background");
  await withWaiting(at);
  await at.type(`${one} relaunch`);
  await at.type(`${one} gateway detach`);
  const told = {
    gateway_health: "not_attached",
    queue_depth: 2,
    managed_agent_recovery: "reconciliation_required",
    managed_agent_instance_epoch: 2,
    request_admission: "blocked_unavailable",
  };
  expect(at.file("gateway", "state.json")).toMatchObject(told);
  expect(await status(at)).toMatchObject(told);
  await using coordinator = await startCoordinator(at.fixture);
  const ref = String(at.launch["agent_id"]);
  expect(await coordinator.ask(`/svc/agents/${ref}/gateway`)).toMatchObject({ status: 200, body: told });
}, 120_000);

test("where no gateway has run there is no queue, and reading makes none", async () => {
  await using at = await launched("--no-gateway");
  const { admission_block, ...seeded } = await status(at);
  expect([admission_block, seeded["queue_depth"], seeded["managed_agent_instance_epoch"]]).toEqual([
    undefined,
    0,
    0,
  ]);
  expect((await at.type(`${one} requests list`)).stdout).toBe("no requests yet\n");
  expect(existsSync(join(at.sessionRoot, "gateway", "queue.sqlite"))).toBe(false);
}, 120_000);
