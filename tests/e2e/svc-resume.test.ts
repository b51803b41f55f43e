import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { endTmux } from "../support/end-tmux.ts";
import type { ProviderRun } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

/** Processes that were started in the fixture's home, or below its tmux server, which gives it to them. */
function processesOf(fixture: CliFixture): number[] {
  const home = `\0HOME=${fixture.env["HOME"]}\0`;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      return pid !== process.pid && `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}\0`.includes(home);
    } catch {
      return false;
    }
  });
}

/** As after a restart of the machine: no process, and no folder of sockets, which lies in /tmp. */
async function loseMachine(fixture: CliFixture): Promise<void> {
  const pids = processesOf(fixture);
  endTmux(fixture.socket);
  for (const pid of pids) fixture.kill(pid);
  await until("the end of all", () => processesOf(fixture).length === 0);
  rmSync(fixture.socket, { force: true });
}

interface Resumption {
  agents: {
    agent_name: string;
    outcome: string;
    waiting_prompts: number;
    had_turn: boolean;
    conversation?: { mode: string; id?: string };
    detail?: string;
  }[];
  left_stopped: number;
}

test("after everything was killed one command brings the agents back, in the order of waiting work", async () => {
  await using fixture = createCliFixture();
  const svc = (line: string, env = fixture.env) => fixture.run("svc", line.split(" "), { env });
  const logOf = (name: string) => join(fixture.folder, `${name}.log`);
  const recordsOf = (name: string): DemoLogRecord[] => parseDemoLog(readFileSync(logOf(name), "utf8"));
  const heard = (name: string) =>
    recordsOf(name).flatMap((one) => (one.kind === "submitted" ? [one.text] : []));
  const launch = async (name: string, flags = "", behind = "") => {
    const line = `agents launch --tool demo --agent-name ${name} ${flags} -- --log ${logOf(name)} ${behind}`;
    const made = await fixture.mgr(...line.split(" ").filter(Boolean));
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  };
  for (const name of ["idle", "working", "stopped"]) await launch(name);
  await launch("talker", "--headless", `--state ${join(fixture.folder, "talks")}`);
  await launch("secret", "--env API_KEY=given");
  const runs = () =>
    readFileSync(logOf("talker"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as ProviderRun);
  expect((await svc("ask talker remember this FAST")).exitCode).toBe(0);
  const talk = runs()[0]?.session_id;
  expect((await svc("stop stopped")).exitCode).toBe(0);

  await svc("tell working SLOW 600000");
  await until("its turn", () => recordsOf("working").some(({ kind }) => kind === "turn_started"));
  await svc("tell working the second thing");
  expect((await svc("queue working")).stdout).toContain("the second thing");
  await loseMachine(fixture);

  const plan = await svc("resume --dry-run --json");
  const outcomes = ({ agents }: Resumption) => agents.map((one) => [one.agent_name, one.outcome]);
  expect(outcomes(plan.json() as unknown as Resumption)).toEqual([
    ["working", "would_resume"],
    ["idle", "would_resume"],
    ["secret", "failed"],
    ["talker", "would_resume"],
  ]);
  expect(await fixture.sessions()).toEqual([]);

  const resumed = await svc("resume --at-once 2 --json");
  const document = resumed.json() as unknown as Resumption;
  expect(outcomes(document)).toEqual([
    ["working", "resumed"],
    ["idle", "resumed"],
    ["secret", "failed"],
    ["talker", "resumed"],
  ]);
  expect([resumed.exitCode, document.left_stopped]).toEqual([1, 1]);
  expect(document.agents).toMatchObject([
    { waiting_prompts: 1, had_turn: true, conversation: { mode: "new" } },
    { waiting_prompts: 0, had_turn: false },
    { detail: expect.stringContaining("API_KEY") },
    { conversation: { mode: "continued", id: talk } },
  ]);

  // The queue goes on, and nothing that had begun is repeated.
  await until("the prompt that waited", () => heard("working").includes("the second thing"));
  expect(heard("working")).toEqual(["SLOW 600000", "the second thing"]);
  expect((await svc("ask talker and this FAST")).exitCode).toBe(0);
  expect(runs().map((run) => [run.session_id, run.resume])).toEqual([
    [talk, "new"],
    [talk, "exact"],
  ] as never);

  // With the variable it comes back; what runs is left alone; what a person stopped comes back on demand.
  const again = await svc("resume", { ...fixture.env, API_KEY: "given" });
  expect([again.exitCode, again.stderr]).toEqual([0, ""]);
  expect(again.stdout).toMatch(
    /^secret runs again, with a new conversation: .*\n1 of 1 agents run again after \d+ s\n1 agent is left that a person stopped: svc resume --all\n$/,
  );
  expect((await svc("resume")).stdout).toMatch(/^no agent is gone\n/);
  const all = await svc("resume --all --json");
  expect(outcomes(all.json() as unknown as Resumption)).toEqual([["stopped", "resumed"]]);
  expect((await svc("ls -q")).stdout.trim().split("\n").sort()).toEqual([
    "idle",
    "secret",
    "stopped",
    "talker",
    "working",
  ]);
  for (const name of ["idle", "secret", "stopped", "talker", "working"]) await svc(`stop ${name}`);
}, 240_000);

test("what a person stops after it went stays stopped, and a team is brought back alone", async () => {
  await using fixture = createCliFixture();
  const team = join(fixture.folder, "team");
  mkdirSync(team);
  writeFileSync(join(team, "svc.yaml"), "version: 1\nagents:\n  lead: { tool: demo }\n");
  const svc = (line: string, cwd = fixture.workdir) => fixture.run("svc", line.split(" "), { cwd });
  for (const name of ["given-up", "given-up-too", "alone"]) {
    expect((await svc(`new ${name} demo`)).exitCode).toBe(0);
  }
  expect((await svc("up --yes", team)).exitCode).toBe(0);
  await loseMachine(fixture);
  expect((await svc("stop given-up")).exitCode).toBe(0);
  // A check that saw that it is gone does not make it one that was stopped.
  expect((await svc("doctor --fix")).stdout).toContain("svc resume");
  expect((await svc("stop given-up-too")).exitCode).toBe(0);

  const ofTeam = await svc("resume", team);
  expect([ofTeam.exitCode, ofTeam.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^lead runs again, .*\n1 of 1 agents run again after \d+ s\n1 agent is left of other folders: svc resume there, or in \/\n$/,
    ),
  ]);
  const [first, second] = await Promise.all([svc("resume --json"), svc("resume --json")]);
  const outcomes = [first, second].flatMap(({ stdout }) =>
    (JSON.parse(stdout) as Resumption).agents.map((one) => [one.agent_name, one.outcome]),
  );
  expect(outcomes).toEqual([["alone", "resumed"]]);
  expect((await fixture.sessions()).length).toBe(2);
  for (const name of ["alone", "lead"]) await svc(`stop ${name}`);
}, 240_000);
