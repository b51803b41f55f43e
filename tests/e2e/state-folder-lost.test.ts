import { expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";
import { until } from "../support/until.ts";

interface Check {
  name: string;
  verdict: string;
  detail: string;
  remedy: string | null;
}

const launch = ["agents", "launch", "--tool", "demo", "--no-gateway", "--agent-name"];

async function orphansCheck(lab: CliLab, ...flags: string[]): Promise<Check> {
  const { checks } = (await lab.mgr("doctor", ...flags, "--json")).json() as unknown as { checks: Check[] };
  const check = checks.find(({ name }) => name === "orphans");
  if (!check) throw new Error("doctor has no check of orphans");
  return check;
}

const namesIn = async (lab: CliLab) => {
  const list = (await lab.mgr("agents", "list", "--json")).json() as { agents: { agent_name: string }[] };
  return list.agents.map((agent) => agent.agent_name).sort();
};

/** A tmux session as a person makes one, with an agent in it. */
async function startOwn(lab: CliLab, session: string) {
  const log = join(lab.folder, `${session}.log`);
  await lab.startSession(session, [...lab.command("svc-gateway"), "demo-agent", "--log", log]);
  await until("the agent to be there", () => Bun.file(log).exists());
}

async function joinOwn(lab: CliLab, session: string, agentName: string) {
  const pane = await lab.tmux("display-message", "-p", "-t", `=${session}:0.0`, "#{pane_id}");
  const env = { ...lab.env, TMUX: `${lab.socket},1,0`, TMUX_PANE: pane };
  return lab.run("svc-mgr", ["agents", "self", "join", "--no-gateway", "--agent-name", agentName], { env });
}

test("agents that outlive the state folder are named, keep their names, and come back", async () => {
  await using lab = createCliLab();
  expect((await lab.mgr(...launch, "anna")).exitCode).toBe(0);
  await startOwn(lab, "mine");
  expect((await joinOwn(lab, "mine", "carl")).exitCode).toBe(0);
  mkdirSync(join(lab.workdir, ".svc/runtime"), { recursive: true, mode: 0o700 });
  expect((await lab.mgr("overlay", "adopt")).exitCode).toBe(0);
  expect((await lab.mgr(...launch, "bert")).exitCode).toBe(0);
  rmSync(join(lab.env["HOME"] ?? "", ".local/state/svc"), { recursive: true });

  const check = await orphansCheck(lab, "--fix");
  expect(check.verdict).toBe("damaged");
  for (const name of ["anna", "bert", "carl"]) expect(check.detail).toContain(`"${name}"`);
  const { remedy } = check;
  expect(remedy).toMatch(/svc-gateway join --tmux-session SVC-anna-\d+ --agent-name anna/);
  expect(remedy).toContain(`svc-mgr overlay adopt ${join(lab.workdir, ".svc")}`);
  expect(remedy).toContain("svc-gateway join --tmux-session mine --agent-name carl");
  // The session of a person is not ours to end.
  expect(remedy).not.toContain("kill-session -t '=mine'");
  const list = await lab.mgr("agents", "list");
  for (const name of ["anna", "bert", "carl"]) expect(list.stderr).toContain(`"${name}"`);

  const sessions = await lab.sessions();
  for (const name of ["anna", "Bert", "carl"]) {
    const run = await lab.mgr(...launch, name);
    expect([name, run.exitCode]).toEqual([name, 1]);
    expect(run.stderr).toContain("no record names it");
  }
  await startOwn(lab, "other");
  expect((await joinOwn(lab, "other", "carl")).stderr).toContain("no record names it");
  expect((await lab.sessions()).sort()).toEqual([...sessions, "other"].sort());

  expect((await joinOwn(lab, "mine", "carl")).exitCode).toBe(0);
  expect((await lab.mgr("overlay", "adopt")).exitCode).toBe(0);
  expect((await orphansCheck(lab, "--fix")).detail).toStartWith("found again: bert; ");
  expect(await namesIn(lab)).toEqual(["bert", "carl"]);
}, 120_000);
