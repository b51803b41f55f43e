import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";

async function status(at: CliAgent): Promise<Record<string, unknown>> {
  return (await at.type("agents single --agent-name worker gateway status --json")).json();
}

async function record(at: CliAgent): Promise<Record<string, unknown>> {
  const { agents } = (await at.fixture.mgr("agents", "list", "--state", "all", "--json")).json();
  return (agents as Record<string, unknown>[])[0] ?? {};
}

/** What others read on disk of the agent's instance is what the gateway says of it (contract 2.7). */
async function recordAgrees(at: CliAgent): Promise<void> {
  const { managed_agent_instance_epoch, managed_agent_instance_id } = await status(at);
  expect(at.file("gateway", "run", "current-instance.json")).toMatchObject({
    managed_agent_instance_epoch,
    managed_agent_instance_id,
  });
}

const firstPane = (at: CliAgent, session = at.session) =>
  at.tmux("list-panes", "-t", `=${session}:0`, "-F", "#{pane_id} #{pane_pid}");

describe("an agent that runs", () => {
  test("is started again in its pane, and what it was given before waits for the operator", async () => {
    await using at = await launched();
    await at.ready();
    await at.type("agents single --agent-name worker prompt", "--prompt", "SLOW 600000");
    await at.busy();
    const waiting = await at.type("agents single --agent-name worker prompt --json", "--prompt", "later");
    const gateway = at.gatewayPid();
    const [pane, pid] = (await firstPane(at)).split(" ");
    const run = await at.type("agents single --agent-name worker relaunch");
    expect(run.stderr).toBe("");
    expect(run.stdout).toContain(`in tmux session ${at.session}\n`);
    expect(run.stdout).toContain("svc-mgr agents single --agent-name worker gateway reconcile\n");
    expect(at.gatewayPid()).toBe(gateway);
    const [samePane, otherPid] = (await firstPane(at)).split(" ");
    expect(samePane).toBe(pane ?? "");
    expect(otherPid).not.toBe(pid ?? "");
    expect(at.fixture.alive(Number(pid))).toBe(false);
    expect(await status(at)).toMatchObject({
      request_admission: "blocked_reconciliation",
      managed_agent_instance_epoch: 2,
    });
    await recordAgrees(at);
    const again = await at.type("agents single --agent-name worker relaunch --reconcile --json");
    expect(again.json()).toMatchObject({ in_place: true });
    expect(await status(at)).toMatchObject({ request_admission: "open", managed_agent_instance_epoch: 3 });
    await recordAgrees(at);
    const old = await at.type(`${one} requests show --json`, String(waiting.json()["request_id"]));
    expect(old.json()).toMatchObject({ state: "failed" });
    const fresh = await at.type(`${one} prompt --wait --json`, "--prompt", "new\nFAST");
    expect(fresh.json()).toMatchObject({ success: true });
    expect(at.heard()).toEqual(["SLOW 600000", "new\nFAST"]);
    expect(await record(at)).toMatchObject({ lifecycle_state: "active" });
  }, 120_000);

  test("takes prompts at once where none waited for it before, in its pane and in a new session", async () => {
    await using at = await launched();
    const run = await at.type(`${one} relaunch --json`);
    expect(run.json()).toMatchObject({ in_place: true, request_admission: "open" });
    expect(await status(at)).toMatchObject({ request_admission: "open", managed_agent_instance_epoch: 2 });
    await at.type(`${one} stop`);
    const again = await at.type(`${one} relaunch`);
    expect([again.exitCode, again.stdout.includes("reconcile")]).toEqual([0, false]);
    expect((await at.type(`${one} prompt --wait --json`, "--prompt", "x\nFAST")).json()).toMatchObject({
      success: true,
    });
  }, 120_000);

  test("has a pane that ends with its shell again, where a stop was cut short before", async () => {
    await using at = await launched();
    const [pane = ""] = (await firstPane(at)).split(" ");
    await at.tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on");
    expect((await at.type(`${one} relaunch --json`)).json()).toMatchObject({ in_place: true });
    expect(await at.tmux("show-options", "-p", "-t", pane, "remain-on-exit")).toBe("");
  }, 120_000);

  test("that cannot start again shows it on its screen, and stays an agent of ours", async () => {
    await using at = await launched();
    const path = join(at.sessionRoot, "manifest.json");
    const manifest = JSON.parse(readFileSync(path, "utf8")) as { launch_plan: { args: string[] } };
    manifest.launch_plan.args.push("--no-such-flag");
    writeFileSync(path, JSON.stringify(manifest));
    const run = await at.type("agents single --agent-name worker relaunch --json");
    expect(run.exitCode).toBe(1);
    expect(run.error()).toMatchObject({ error: "dispatch_failed" });
    expect(await record(at)).toMatchObject({ lifecycle_state: "active", availability: "unavailable" });
  }, 120_000);

  test("relaunches itself through a process that outlives it", async () => {
    await using at = await launched();
    await at.ready();
    const [pane = "", pid = ""] = (await firstPane(at)).split(" ");
    await at.type("agents single --agent-name worker gateway detach");
    // Stands where the agent's own tools run: below the first process of the pane.
    const program = [...at.fixture.command("svc-mgr"), "agents", "self", "relaunch", "--json"].join(" ");
    const told = join(at.fixture.folder, "told");
    await at.tmux(
      "respawn-pane",
      "-k",
      "-t",
      pane,
      "--",
      "sh",
      "-c",
      `${program} > ${told} 2>&1; exec sleep 60`,
    );
    const [, shell = ""] = (await firstPane(at)).split(" ");
    expect(shell).not.toBe(pid);
    const log = join(at.sessionRoot, "gateway", "logs", "relaunch.log");
    await until("the agent to run again", async () => (await record(at))["availability"] === "available");
    expect(JSON.parse(readFileSync(told, "utf8"))).toMatchObject({ handed_over: true, log });
    expect(at.fixture.alive(Number(shell))).toBe(false);
    await until("the helper's account", () => readFileSync(log, "utf8").includes("worker runs demo"));
  }, 120_000);
});

describe("an agent that was stopped", () => {
  test("runs again in a new session with the same session root, its old work failed by the operator's word", async () => {
    await using at = await launched();
    await at.ready();
    const before = at.file("manifest.json");
    expect((await at.type(`${one} stop`)).exitCode).toBe(0);
    const run = await at.type("agents single --agent-name worker relaunch --reconcile --json");
    expect(run.stderr).toBe("");
    const answer = run.json();
    expect(answer).toMatchObject({ in_place: false, session_root: at.sessionRoot });
    const session = String(answer["tmux_session_name"]);
    expect(session).not.toBe(at.session);
    expect(await at.fixture.sessions()).toEqual([session]);
    const after = at.file("manifest.json");
    expect(after["registry_generation_id"]).not.toBe(before["registry_generation_id"]);
    expect(after["runtime"]).toMatchObject({
      session_id: (before["runtime"] as Record<string, unknown>)["session_id"],
    });
    expect(await status(at)).toMatchObject({ request_admission: "open", tmux_session_name: session });
    const prompt = await at.type(`${one} prompt --wait --json`, "--prompt", "again\nFAST");
    expect(prompt.json()).toMatchObject({ success: true });
    await at.type(`${one} stop`);
    expect(await at.fixture.sessions()).toEqual([]);
  }, 120_000);

  if (isWholeMatrix) {
    test("stays stopped when its program does not start, and can be tried again", async () => {
      await using at = await launched();
      await at.type(`${one} stop`);
      const path = join(at.sessionRoot, "manifest.json");
      const text = readFileSync(path, "utf8");
      const manifest = JSON.parse(text) as { launch_plan: { args: string[] } };
      manifest.launch_plan.args.push("--no-such-flag");
      writeFileSync(path, JSON.stringify(manifest));
      const changed = JSON.parse(readFileSync(path, "utf8")) as unknown;
      expect((await at.type(`${one} relaunch`)).exitCode).toBe(1);
      expect(await at.fixture.sessions()).toEqual([]);
      expect(at.file("manifest.json")).toEqual(changed as Record<string, unknown>);
      expect(await record(at)).toMatchObject({ lifecycle_state: "stopped" });
      writeFileSync(path, text);
      const run = await at.type("agents single --agent-name worker relaunch --no-gateway --json");
      expect(run.json()).toMatchObject({ in_place: false, gateway_port: null });
    }, 120_000);

    test.each<{ id: string; flags: string[]; exitCode: number; says: string }>([
      { id: "an id without mode exact", flags: ["--chat-session-id", "x"], exitCode: 2, says: "mode exact" },
      {
        id: "mode exact without an id",
        flags: ["--chat-session-mode", "exact"],
        exitCode: 2,
        says: "needs the id",
      },
      {
        id: "a tool that resumes nothing",
        flags: ["--chat-session-mode", "tool_last_or_new"],
        exitCode: 1,
        says: "not known to resume",
      },
    ])(
      "is left alone for $id",
      async ({ flags, exitCode, says }) => {
        await using at = await launched("--no-gateway");
        const [, pid] = (await firstPane(at)).split(" ");
        const run = await at.fixture.mgr(...one.split(" "), "relaunch", ...flags);
        expect(run.exitCode).toBe(exitCode);
        expect(run.stderr).toContain(says);
        expect((await firstPane(at)).split(" ")[1]).toBe(pid ?? "");
      },
      120_000,
    );

    test("is not launched where its folder is gone", async () => {
      await using at = await launched("--no-gateway");
      await at.type(`${one} stop`);
      rmSync(at.fixture.workdir, { recursive: true });
      const run = await at.fixture.run("svc-mgr", [...one.split(" "), "relaunch"], {
        cwd: at.fixture.folder,
      });
      mkdirSync(at.fixture.workdir);
      expect(run.exitCode).toBe(1);
      expect(run.stderr).toContain("is gone");
    }, 120_000);
  }
});
