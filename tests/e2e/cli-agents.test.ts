import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { launched } from "../support/cli-agent.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

describe("an agent's life on the command line", () => {
  test("it is launched, seen, prompted, interrupted and stopped, and nothing runs on", async () => {
    await using at = await launched();
    expect(at.launch).toMatchObject({ agent_name: "worker", tool: "demo", gateway_host: "127.0.0.1" });
    expect(await at.fixture.sessions()).toEqual([at.session]);

    const list = await at.fixture.mgr("agents", "list", "--json");
    expect(list.json()).toMatchObject({
      agents: [
        {
          agent_name: "worker",
          lifecycle_state: "active",
          availability: "available",
          gateway_base_url: at.baseUrl,
        },
      ],
      ignored: [],
    });
    expect((await at.fixture.mgr("agents", "global", "list")).stdout).toContain("worker");

    const prompted = await at.type(
      "agents single --agent-name worker prompt",
      "--prompt",
      "first line\nsecond line\nFAST",
      "--wait",
      "--json",
    );
    expect(prompted.exitCode).toBe(0);
    expect(prompted.json()).toMatchObject({
      success: true,
      disposition: "accepted",
      request: { state: "completed" },
    });
    expect(at.heard()).toEqual(["first line\nsecond line\nFAST"]);

    await at.type("agents single --agent-name worker prompt", "--prompt", "SLOW 600000");
    await at.busy();
    const interrupted = await at.type("agents single --agent-name worker interrupt --json");
    expect(interrupted.json()).toMatchObject({
      success: true,
      disposition: "accepted",
      request_kind: "interrupt",
    });
    const again = await at.type("agents single --agent-name worker interrupt --json");
    expect(again.json()).toMatchObject({ success: true, disposition: "no_op" });

    const pid = await at.gatewayPid();
    const stopped = await at.type("agents single --agent-name worker stop --json");
    expect(stopped.exitCode).toBe(0);
    expect(stopped.json()).toMatchObject({ success: true, gateway: "stopped", surviving_pids: [] });
    expect(at.fixture.alive(pid)).toBe(false);
    expect(await at.fixture.sessions()).toEqual([]);
    expect((await at.type("agents single --agent-name worker stop")).stdout).toContain("stopped already");
    expect((await at.fixture.mgr("agents", "list", "--json")).json()).toEqual({
      agents: [],
      ignored: [],
      orphans: [],
    });
    expect((await at.fixture.mgr("agents", "list", "--state", "stopped", "--json")).json()).toMatchObject({
      agents: [{ agent_name: "worker", lifecycle_state: "stopped" }],
    });
  }, 120_000);

  test("a prompt comes from standard input as well, and requests can be looked up", async () => {
    await using at = await launched();
    const fed = await at.feed("from a pipe\nFAST", "agents single --agent-name worker prompt --wait --json");
    const id = String(fed.json()["request_id"]);
    expect(at.heard()).toEqual(["from a pipe\nFAST"]);
    const shown = await at.type("agents single --agent-name worker requests show --json", id);
    expect(shown.json()).toMatchObject({ request_id: id, state: "completed" });
    expect((await at.type("agents single --agent-name worker requests list")).stdout).toContain(id);
    const unknown = await at.type("agents single --agent-name worker requests show --json", "gwreq-none");
    expect(unknown.exitCode).toBe(1);
    expect(unknown.error()).toHaveProperty("detail");
  }, 120_000);

  test("a direct prompt is sent when the agent is ready and refused with its reason when not", async () => {
    await using at = await launched();
    const sent = await until("a direct prompt to be admitted", async () => {
      const run = await at.type(
        "agents single --agent-name worker gateway prompt --json",
        "--prompt",
        "SLOW 600000",
      );
      return run.exitCode === 0 && run;
    });
    expect(sent.json()).toMatchObject({ status: "ok", sent: true, admission_policy: "ready_only" });
    await at.busy();
    const refused = await at.type(
      "agents single --agent-name worker gateway prompt --json",
      "--prompt",
      "now",
    );
    expect(refused.exitCode).toBe(1);
    expect(refused.stdout).toBe("");
    expect(refused.error()).toMatchObject({ detail: { sent: false, error_code: "not_ready" } });
    await at.type("agents single --agent-name worker prompt", "--prompt", "later");
    const told = await at.type("agents single --agent-name worker gateway prompt", "--prompt", "now");
    expect(told.stderr).toMatch(
      /^Error: not_ready: .*queue_depth=1\. Let it wait .* worker prompt\. .*requests list$/m,
    );
    expect(at.heard()).toEqual(["SLOW 600000"]);
  }, 120_000);

  test("a killed gateway is attached again, a healthy one is left as it is", async () => {
    await using at = await launched();
    const pid = await at.gatewayPid();
    expect((await at.type("agents single --agent-name worker gateway attach")).stdout).toContain("already");
    expect(await at.gatewayPid()).toBe(pid);
    at.fixture.kill(pid);
    await until("the gateway's end", () => !at.fixture.alive(pid));
    const offline = await at.type("agents single --agent-name worker gateway status --json");
    expect(offline.json()).toMatchObject({ gateway_health: "not_attached" });
    const unreachable = await at.type("agents single --agent-name worker prompt", "--prompt", "x");
    expect(unreachable.exitCode).toBe(3);
    expect(unreachable.stderr).toContain("gateway attach");
    expect((await at.type("agents single --agent-name worker gateway attach --json")).json()).toMatchObject({
      gateway_health: "healthy",
    });
    expect(
      (await at.type("agents single --agent-name worker prompt --wait", "--prompt", "after\nFAST")).exitCode,
    ).toBe(0);
    expect(at.heard()).toEqual(["after\nFAST"]);
  }, 120_000);

  test("from inside its session the agent is `self`", async () => {
    await using at = await launched();
    const { run, env } = at.fixture;
    const inside = {
      env: { ...env, TMUX: `${at.fixture.socket},1,0`, TMUX_PANE: "%0", SVC_TMUX_SOCKET: "" },
    };
    const state = await run("svc-mgr", ["agents", "self", "state", "--json"], inside);
    expect(state.json()).toMatchObject({ identity: { agent_name: "worker", tmux_session_name: at.session } });
    const stop = await run("svc-mgr", ["agents", "self", "stop"], inside);
    expect(stop.exitCode).toBe(2);
    const outside = await run("svc-mgr", ["agents", "self", "state", "--json"]);
    expect(outside.exitCode).toBe(1);
    expect(outside.error()).toMatchObject({ error: "not_found" });
  }, 120_000);

  test("a name that runs is not launched twice", async () => {
    await using at = await launched();
    const again = await at.fixture.mgr(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "worker",
      "--json",
    );
    expect(again.exitCode).toBe(1);
    expect(again.error()).toMatchObject({ error: "conflict" });
    expect(await at.fixture.sessions()).toEqual([at.session]);
  }, 120_000);
});

describe("a launch that cannot be", () => {
  const cases: { id: string; args: string[]; exitCode: number; says: string }[] = [
    {
      id: "without a name is a misuse",
      args: ["--tool", "demo"],
      exitCode: 2,
      says: "--agent-name is required",
    },
    {
      id: "of an unknown tool is a misuse",
      args: ["--tool", "nope", "--agent-name", "a"],
      exitCode: 2,
      says: "known are",
    },
    {
      id: "under a bad name is a misuse",
      args: ["--tool", "demo", "--agent-name", "a b"],
      exitCode: 2,
      says: "letters",
    },
    {
      id: "of a tool that is not installed says how to get it",
      args: ["--tool", "codex", "--agent-name", "a"],
      exitCode: 1,
      says: "npm install -g @openai/codex",
    },
    {
      id: "in a folder that is not there is a misuse",
      args: ["--tool", "demo", "--agent-name", "a", "--workdir", "nowhere"],
      exitCode: 2,
      says: "nowhere does not exist",
    },
    {
      id: "with a variable that is none is a misuse",
      args: ["--tool", "demo", "--agent-name", "a", "--env", "1X"],
      exitCode: 2,
      says: "NAME=VALUE",
    },
  ];
  test.each(cases)("$id", async ({ args, exitCode, says }) => {
    await using fixture = createCliFixture();
    // Only what is needed is on PATH, so that no agent CLI of this machine is found.
    const path = pathWithTmuxOnly(fixture);
    const run = await fixture.run("svc-mgr", ["agents", "launch", ...args], {
      env: { ...fixture.env, PATH: path },
    });
    expect(run.exitCode).toBe(exitCode);
    expect(run.stderr).toContain(says);
    expect(run.stdout).toBe("");
    expect(await fixture.sessions()).toEqual([]);
  });
});

function pathWithTmuxOnly(fixture: CliFixture): string {
  const bin = join(fixture.folder, "bin");
  mkdirSync(bin);
  symlinkSync(Bun.which("tmux") ?? "", join(bin, "tmux"));
  return bin;
}
