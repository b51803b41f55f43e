import { expect, test } from "bun:test";
import { launched } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";

interface Diagnosis {
  healthy: boolean;
  agents_without_work: string[];
  checks: { name: string; verdict: string; detail: string; remedy: string | null }[];
}

test("doctor names an agent whose gateway died, and does not send those who have agents to the start", async () => {
  await using at = await launched("--gateway-background");
  const well = await at.type("doctor");
  expect(well.stdout).not.toContain("Begin with");
  expect(well.stdout).toContain("svc-mgr agents list");
  const pid = at.gatewayPid();
  at.fixture.kill(pid);
  await until("the gateway's end", () => !at.fixture.alive(pid));
  const ill = await at.type("doctor");
  expect(ill.exitCode).toBe(0);
  expect(ill.stdout).not.toContain("Nothing needed is missing");
  expect(ill.stdout).toContain("\nThis machine lacks nothing, but 1 agent takes no work: worker. ");
  const { checks, ...found } = (await at.type("doctor --json")).json() as unknown as Diagnosis;
  expect(found).toEqual({ healthy: true, agents_without_work: ["worker"] });
  expect(checks.filter(({ name }) => name === "agent worker")).toEqual([
    {
      name: "agent worker",
      verdict: "warning",
      detail: "its gateway has died",
      remedy: `Start one with: svc-mgr ${one} gateway attach`,
    },
  ]);
}, 120_000);

test("doctor names an agent whose tmux server ended", async () => {
  await using at = await launched();
  await at.tmux("kill-server");
  const { stdout } = await at.type("doctor");
  expect(stdout).toContain("\nThis machine lacks nothing, but 1 agent takes no work: worker. ");
}, 120_000);

test("a port that is taken is refused before anything is launched", async () => {
  await using fixture = createCliFixture();
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  try {
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker"];
    const run = await fixture.mgr(...launch, "--gateway-port", String(other.port));
    expect([run.exitCode, run.stdout]).toEqual([1, ""]);
    expect(run.stderr).toContain("nothing was launched");
    expect(await fixture.sessions()).toEqual([]);
    expect((await fixture.mgr("agents", "list", "--state", "all", "--json")).json()["agents"]).toEqual([]);
  } finally {
    await other.stop(true);
  }
}, 60_000);

test("a join from outside tmux names the command for there", async () => {
  await using fixture = createCliFixture();
  const run = await fixture.mgr("agents", "self", "join", "--agent-name", "worker");
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toContain("svc-gateway join --tmux-session SESSION --agent-name worker");
}, 60_000);
