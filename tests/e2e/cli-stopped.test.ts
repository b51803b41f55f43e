import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TranscriptPage } from "../../src/protocol/transcript.ts";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";

/** A turn that has ended, one that runs, and a prompt that waits behind it; its id. */
async function withWork(at: CliAgent): Promise<string> {
  await at.ready();
  await at.feed("hello parser\nECHO", `${one} prompt --wait`);
  await at.type(`${one} prompt`, "--prompt", "SLOW 600000");
  await at.busy();
  const waiting = await at.type(`${one} prompt --json`, "--prompt", "second");
  return String(waiting.json()["request_id"]);
}

/** As after a restart of the machine: no tmux server, no process of ours. */
async function loseMachine(at: CliAgent): Promise<void> {
  const gateway = at.gatewayPid();
  await at.tmux("kill-server");
  at.fixture.kill(gateway);
  await until("its end", () => !at.fixture.alive(gateway));
}

interface Listed {
  requests: { request_id: string; state: string; evidence: { step: string; agent_ended?: true }[] }[];
}

for (const end of ["stopped", "gone"] as const) {
  test(`an agent that is ${end} can be read: its log, its requests, its screen and why it ended`, async () => {
    await using at = await launched("--gateway-background", "--", "--signals");
    const waiting = await withWork(at);
    if (end === "stopped") expect((await at.type(`${one} stop`)).exitCode).toBe(0);
    else await loseMachine(at);

    const log = await at.typeHere(`${one} log --json`);
    expect([log.exitCode, log.stderr]).toEqual([0, expect.stringContaining("read from its files")]);
    const { turns } = log.json() as TranscriptPage;
    expect(turns.map(({ status, error }) => [status, error])).toEqual([
      ["interrupted", expect.stringContaining("the agent ended before this turn did")],
      ["completed", null],
    ]);
    expect((await at.typeHere(`${one} last`)).stdout).toBe("hello parser\n");
    expect((await at.typeHere(`${one} log --follow`)).stdout).toContain("hello parser");
    expect((await at.typeHere(`${one} search parser`)).stdout).toContain("parser");
    expect((await at.typeHere(`${one} screen`)).stdout).toContain("hello parser");

    const { requests } = (await at.typeHere(`${one} requests list --json`)).json() as unknown as Listed;
    expect(requests.map(({ state, evidence }) => [state, evidence.at(-1)?.agent_ended ?? false])).toEqual([
      ["accepted", false],
      ["completed", true],
      ["completed", false],
    ]);
    expect(requests[0]?.request_id).toBe(waiting);
    expect((await at.typeHere(`${one} requests list`)).stdout).toContain("ended with the agent");
    const why = await at.typeHere(`${one} why`);
    expect([why.exitCode, why.stdout]).toEqual([0, expect.stringContaining('"worker" does not run')]);
    expect(why.stdout).toContain("1, kept on disk");

    await using coordinator = await startCoordinator(at.fixture);
    const gateway = `/svc/agents/${at.launch["agent_id"]}/gateway`;
    expect(await coordinator.ask(`${gateway}/transcript?limit=1`)).toMatchObject({
      status: 200,
      body: { turns: [{ status: "interrupted" }] },
    });
    expect(await coordinator.ask(`${gateway}/requests`)).toMatchObject({ status: 200 });
    expect(await coordinator.ask(`${gateway}/ledger/summary`)).toMatchObject({ status: 200 });
    expect(await coordinator.ask(`${gateway}/tui/state`)).toMatchObject({ status: 503 });
  }, 120_000);
}

test("a restart keeps or drops what waits for the agent that was stopped", async () => {
  await using at = await launched("--gateway-background");
  const kept = await withWork(at);
  await at.type(`${one} stop`);
  const again = await at.type(`${one} relaunch --keep-requests --json`);
  expect([again.exitCode, again.json()]).toMatchObject([
    0,
    { request_admission: "open", waiting: { request_ids: [kept], fate: "keep" } },
  ]);
  expect((await at.typeHere(`${one} requests show --json`, kept)).json()).toMatchObject({
    managed_agent_instance_epoch: 2,
  });
  await until("the prompt that was kept", () => at.heard().includes("second"));

  // A restart that says nothing of them leaves that to a person.
  const left = await withWork(at);
  await at.type(`${one} relaunch`);
  const again2 = await at.type("agents single --agent-name worker gateway keep-requests");
  expect([again2.exitCode, again2.stdout]).toEqual([0, `epoch 3 is worked with; kept: ${left}\n`]);

  const dropped = await withWork(at);
  await at.type(`${one} stop`);
  await at.type(`${one} relaunch --reconcile`);
  expect((await at.typeHere(`${one} requests show --json`, dropped)).json()).toMatchObject({
    state: "failed",
  });
}, 120_000);

test("a launch over a stopped agent with prompts that wait is refused, unless it is to begin without them", async () => {
  await using at = await launched("--gateway-background");
  await withWork(at);
  await at.type(`${one} stop`);
  const launch = "agents launch --tool demo --agent-name worker --no-gateway";
  const refused = await at.type(launch);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("1 prompt that waits")]);
  expect(refused.stderr).toContain("--fresh");
  expect((await at.type(`${launch} --fresh`)).exitCode).toBe(0);

  const prune = (...flags: string[]) => at.fixture.run("svc", ["prune", ...flags]);
  const shown = await prune("--json");
  expect(shown.json()).toMatchObject({
    sessions: [{ session_root: at.sessionRoot, agent_name: "worker", waiting_prompts: 1, removed: false }],
  });
  expect(existsSync(at.sessionRoot)).toBe(true);
  expect((await prune("--yes")).stdout).toBe("removed 1 folder\n");
  expect(existsSync(at.sessionRoot)).toBe(false);
  expect((await prune()).stdout).toBe("nothing to remove\n");
}, 120_000);

test("prune keeps the session of an agent that runs and has lost its record", async () => {
  await using at = await launched("--no-gateway");
  rmSync(`${at.fixture.env["HOME"]}/.local/state/svc/registry/live_agents`, { recursive: true });
  const kept = await at.typeHere("prune --yes --json");
  expect(kept.json()).toMatchObject({
    sessions: [{ session_root: at.sessionRoot, removed: false, in_use: expect.stringContaining(at.session) }],
  });
  expect(existsSync(at.sessionRoot)).toBe(true);
}, 120_000);

test("doctor --fix gives a stopped agent its record again, and nobody that was launched over", async () => {
  await using at = await launched("--gateway-background");
  await at.type(`${one} stop`);
  const again = await at.type("agents launch --tool demo --agent-name worker --fresh --json");
  const { agent_id: id, session_root: root } = again.json() as Record<string, string>;
  await at.type(`${one} stop`);
  const record = `${at.fixture.env["HOME"]}/.local/state/svc/registry/live_agents/${id}/record.json`;
  expect(existsSync(record)).toBe(true);
  writeFileSync(record, "no record");
  expect((await at.type("doctor --fix")).stdout).toContain("stopped agents");
  const listed = await at.typeHere("agents list --state all --json");
  expect(listed.json()).toMatchObject({
    agents: [{ agent_id: id, session_root: root, lifecycle_state: "stopped" }],
  });
  expect((await at.type(`${one} relaunch --json`)).json()).toMatchObject({ agent_id: id });
}, 120_000);

test("up brings a team back where it stopped, after down and after its machine was lost", async () => {
  await using fixture = createCliFixture();
  const svc = (...words: string[]) => fixture.run("svc", words, { cwd: fixture.workdir });
  const log = join(fixture.folder, "agent.log");
  const agent = `{ tool: demo, args: [--log, ${log}, --signals], env: { KEY: value } }`;
  writeFileSync(join(fixture.workdir, "svc.yaml"), `version: 1\nagents:\n  builder: ${agent}\n`);
  const heard = () =>
    readFileSync(log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ kind }) => kind === "submitted")
      .map(({ text }) => text);
  const rootOf = async () => {
    const { agents } = (await fixture.runHere("agents", "list", "--state", "all", "--json")).json() as {
      agents: { session_root: string }[];
    };
    return agents.map(({ session_root: root }) => root);
  };
  expect(await svc("up", "--yes")).toMatchObject({ exitCode: 0 });
  const before = await rootOf();
  await svc("ask", "builder", "hello\nECHO");
  await svc("tell", "builder", "SLOW 600000");
  await until("the turn", () => heard().includes("SLOW 600000"));
  await svc("tell", "builder", "after down");
  expect((await svc("down", "--yes")).exitCode).toBe(0);

  const plan = await svc("up", "--plan");
  expect(plan.stdout).toContain("+ builder: start again where it stopped; 1 prompt waits for it\n");
  expect(await svc("up", "--yes")).toMatchObject({ exitCode: 0 });
  await until("the prompt that waited", () => heard().includes("after down"));
  expect(await rootOf()).toEqual(before);
  expect((await svc("log", "builder")).stdout).toContain("> hello");

  // A stopped agent of this file is none of another folder's: its prompts are not put out of reach from there.
  await svc("tell", "builder", "SLOW 600001");
  await until("the turn", () => heard().includes("SLOW 600001"));
  await svc("tell", "builder", "after the loss");
  await fixture.tmux("kill-server");
  const second = join(fixture.folder, "second");
  mkdirSync(second);
  writeFileSync(join(second, "svc.yaml"), `version: 1\nagents:\n  builder: ${agent}\n`);
  const other = await fixture.run("svc", ["up", "--yes"], { cwd: second });
  expect([other.exitCode, other.stdout]).toEqual([
    1,
    expect.stringContaining("a stopped agent of this name has 1 prompt that waits"),
  ]);
  expect(await svc("up", "--yes")).toMatchObject({ exitCode: 0 });
  await until("the prompt that waited", () => heard().includes("after the loss"));
  expect(await rootOf()).toEqual(before);
  await svc("down", "--yes");
}, 240_000);

test("svc restart takes several agents, asks once what becomes of their prompts, and brings stopped ones back", async () => {
  await using at = await launched("--gateway-background");
  const svc = (...words: string[]) => at.fixture.run("svc", words);
  await withWork(at);
  expect(await svc("new", "helper", "demo")).toMatchObject({ exitCode: 0 });
  await svc("stop", "worker", "helper");

  const asked = await svc("restart", "worker", "helper", "--json");
  expect([asked.exitCode, asked.error()]).toMatchObject([
    1,
    { error: "prompts_wait", agents: [{ agent_name: "worker" }] },
  ]);
  const both = await svc("restart", "worker", "helper", "--keep", "--json");
  expect([both.exitCode, both.json()]).toMatchObject([
    0,
    {
      results: [
        { agent_name: "worker", exit_code: 0, result: { waiting: { fate: "keep" } } },
        { agent_name: "helper", exit_code: 0, result: { conversation: { mode: "new" } } },
      ],
    },
  ]);
  await until("the prompt that was kept", () => at.heard().includes("second"));

  await withWork(at);
  await svc("stop", "worker");
  const refused = await svc("new", "worker", "demo");
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining(
      "Begin without that with --fresh, or bring it back with: svc restart worker --keep",
    ),
  ]);
  expect(await svc("new", "worker", "demo", "--fresh")).toMatchObject({ exitCode: 0 });
  await svc("stop", "worker", "helper");
}, 120_000);
