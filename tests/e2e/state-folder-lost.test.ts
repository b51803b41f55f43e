import { expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

interface Check {
  name: string;
  verdict: string;
  detail: string;
  remedy: string | null;
}

const launch = ["agents", "launch", "--tool", "demo", "--no-gateway", "--agent-name"];

async function orphansCheck(fixture: CliFixture, ...flags: string[]): Promise<Check> {
  const { checks } = (await fixture.mgr("doctor", ...flags, "--json")).json() as unknown as {
    checks: Check[];
  };
  const check = checks.find(({ name }) => name === "orphans");
  if (!check) throw new Error("doctor has no check of orphans");
  return check;
}

const namesIn = async (fixture: CliFixture) => {
  const list = (await fixture.mgr("agents", "list", "--json")).json() as { agents: { agent_name: string }[] };
  return list.agents.map((agent) => agent.agent_name).sort();
};

/** A tmux session as a person makes one, with an agent in it. */
async function startOwn(fixture: CliFixture, session: string) {
  const log = join(fixture.folder, `${session}.log`);
  await fixture.startSession(session, [...fixture.command("svc-gateway"), "demo-agent", "--log", log]);
  await until("the agent to be there", () => Bun.file(log).exists());
}

async function joinOwn(fixture: CliFixture, session: string, agentName: string) {
  const pane = await fixture.tmux("display-message", "-p", "-t", `=${session}:0.0`, "#{pane_id}");
  const env = { ...fixture.env, TMUX: `${fixture.socket},1,0`, TMUX_PANE: pane };
  return fixture.run("svc-mgr", ["agents", "self", "join", "--no-gateway", "--agent-name", agentName], {
    env,
  });
}

test("agents that outlive the state folder are named, keep their names, and come back", async () => {
  await using fixture = createCliFixture();
  expect((await fixture.mgr(...launch, "anna")).exitCode).toBe(0);
  await startOwn(fixture, "mine");
  expect((await joinOwn(fixture, "mine", "carl")).exitCode).toBe(0);
  mkdirSync(join(fixture.workdir, ".svc/runtime"), { recursive: true, mode: 0o700 });
  expect((await fixture.mgr("overlay", "adopt")).exitCode).toBe(0);
  expect((await fixture.mgr(...launch, "bert")).exitCode).toBe(0);
  rmSync(join(fixture.env["HOME"] ?? "", ".local/state/svc"), { recursive: true });

  const check = await orphansCheck(fixture, "--fix");
  expect(check.verdict).toBe("damaged");
  for (const name of ["anna", "bert", "carl"]) expect(check.detail).toContain(`"${name}"`);
  const { remedy } = check;
  expect(remedy).toMatch(/svc-gateway join --tmux-session SVC-anna-\d+ --agent-name anna/);
  expect(remedy).toContain(`svc-mgr overlay adopt ${join(fixture.workdir, ".svc")}`);
  expect(remedy).toContain("svc-gateway join --tmux-session mine --agent-name carl");
  // The session of a person is not ours to end.
  expect(remedy).not.toContain("kill-session -t '=mine'");
  const list = await fixture.mgr("agents", "list");
  for (const name of ["anna", "bert", "carl"]) expect(list.stderr).toContain(`"${name}"`);

  const sessions = await fixture.sessions();
  for (const name of ["anna", "Bert", "carl"]) {
    const run = await fixture.mgr(...launch, name);
    expect([name, run.exitCode]).toEqual([name, 1]);
    expect(run.stderr).toContain("no record names it");
  }
  await startOwn(fixture, "other");
  expect((await joinOwn(fixture, "other", "carl")).stderr).toContain("no record names it");
  expect((await fixture.sessions()).sort()).toEqual([...sessions, "other"].sort());

  expect((await joinOwn(fixture, "mine", "carl")).exitCode).toBe(0);
  expect((await fixture.mgr("overlay", "adopt")).exitCode).toBe(0);
  expect((await orphansCheck(fixture, "--fix")).detail).toStartWith("found again: bert; ");
  expect(await namesIn(fixture)).toEqual(["bert", "carl"]);
}, 120_000);
