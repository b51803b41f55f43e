import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const joinAs = ["agents", "self", "join", "--agent-name", "joined"];

const demo = (fixture: CliFixture, ...args: string[]) => [
  ...fixture.command("svc-gateway"),
  "demo-agent",
  ...args,
];

/** What a pane's program sees: the words of a command line typed in the session `work`. */
async function inside(fixture: CliFixture) {
  const pane = await fixture.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_id}");
  return { env: { ...fixture.env, TMUX: `${fixture.socket},1,0`, TMUX_PANE: pane, SVC_TMUX_SOCKET: "" } };
}

const windowZero = (fixture: CliFixture) =>
  fixture.tmux(
    "list-panes",
    "-t",
    "=work:0",
    "-F",
    "#{window_id} #{window_index} #{pane_id} #{pane_pid} #{pane_width}",
  );

describe("an agent that runs already", () => {
  test("is adopted where it is, prompted, and stopped without its session", async () => {
    await using fixture = createCliFixture();
    const log = join(fixture.folder, "agent.log");
    await fixture.startSession("work", [
      "sh",
      "-c",
      `${demo(fixture, "--log", log).join(" ")}; exec sleep 600`,
    ]);
    await fixture.tmux("new-window", "-d", "-t", "=work:", "--", "sleep", "600");
    await until("the agent to be there", () => existsSync(log));
    const before = await windowZero(fixture);
    const words = [...joinAs, "--json"];
    const joined = await fixture.run("svc-mgr", words, await inside(fixture));
    expect(joined.stderr).toBe("");
    expect(joined.json()).toMatchObject({ agent_name: "joined", tool: "demo", tmux_session_name: "work" });
    expect(await windowZero(fixture)).toBe(before);
    const manifest = JSON.parse(readFileSync(String(joined.json()["manifest_path"]), "utf8"));
    expect(manifest).toMatchObject({
      backend: "local_interactive",
      working_directory: fixture.workdir,
      agent_launch_authority: { session_origin: "joined_tmux", posture_kind: "unavailable" },
    });
    const prompt = await fixture.mgr(
      "agents",
      "single",
      "--agent-name",
      "joined",
      "prompt",
      "--wait",
      "--prompt",
      "hello\nFAST",
    );
    expect(prompt.exitCode).toBe(0);
    expect(readFileSync(log, "utf8")).toContain("hello\\nFAST");
    const again = await fixture.run("svc-mgr", words, await inside(fixture));
    expect(again.exitCode).toBe(1);
    expect(again.error()).toMatchObject({ error: "conflict" });
    const relaunch = await fixture.mgr("agents", "single", "--agent-name", "joined", "relaunch", "--json");
    expect(relaunch.exitCode).toBe(1);
    expect(relaunch.error()).toMatchObject({ error: "precondition_failed" });

    const stopped = await fixture.mgr("agents", "single", "--agent-name", "joined", "stop", "--json");
    expect(stopped.json()).toMatchObject({ success: true, gateway: "stopped", surviving_pids: [] });
    expect(await fixture.sessions()).toEqual(["work"]);
    expect(await windowZero(fixture)).toBe(before);
    expect((await fixture.tmux("list-windows", "-t", "=work")).split("\n")).toHaveLength(2);
    const environment = await fixture.tmux("show-environment", "-t", "=work");
    expect(environment).not.toMatch(/^SVC_(MANIFEST|AGENT|GATEWAY)/m);
  }, 120_000);

  test("shows how it was started, and which conversation a headless one continues", async () => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", ["/bin/sh"]);
    const words = [...joinAs, "--tool", "demo", "--no-gateway", "--json"];
    const join = async (...more: string[]) =>
      fixture.run("svc-mgr", [...words, ...more], await inside(fixture));
    const early = await join("--resume-id", "last");
    expect([early.exitCode, early.error()["detail"]]).toEqual([
      2,
      "--resume-id needs --headless: a terminal agent runs already",
    ]);
    const leaky = await join("--launch-env", "1TOKEN=secret");
    expect([leaky.exitCode, leaky.stderr.includes("secret")]).toEqual([2, false]);
    const joined = await join(
      "--headless",
      "--resume-id",
      "chat-7",
      "--launch-env=ASKED",
      "--launch-env=GIVEN=x",
    );
    expect(joined.stderr).toBe("");
    const root = String(joined.json()["session_root"]);
    expect(JSON.parse(readFileSync(`${root}/manifest.json`, "utf8"))).toMatchObject({
      launch_plan: { env_var_names: ["ASKED", "GIVEN"] },
      headless: { resume_selection_kind: "exact", resume_selection_value: "chat-7" },
    });
    expect(JSON.parse(readFileSync(`${root}/launch-environment.json`, "utf8"))).toEqual({ GIVEN: "x" });
  }, 120_000);

  test("an idle pane is adopted for a headless agent, shows its turns, and is a shell again after stop", async () => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", ["/bin/sh"]);
    const words = [...joinAs, "--headless", "--background", "--json"];
    const toolless = await fixture.run("svc-mgr", words, await inside(fixture));
    expect(toolless.error()).toMatchObject({ error: "invalid_request" });
    const joined = await fixture.run("svc-mgr", [...words, "--tool", "demo"], await inside(fixture));
    expect(joined.stderr).toBe("");
    const manifest = JSON.parse(readFileSync(String(joined.json()["manifest_path"]), "utf8"));
    expect(manifest).toMatchObject({
      backend: "demo_headless",
      agent_launch_authority: { session_origin: "joined_tmux", posture_kind: "headless_launch_options" },
    });
    const single = ["agents", "single", "--agent-name", "joined"];
    const turn = await fixture.mgr(
      ...single,
      "turn",
      "submit",
      "--prompt",
      "hello\nFAST",
      "--wait",
      "--json",
    );
    expect(turn.json()).toMatchObject({ status: "completed" });
    const relaunch = await fixture.mgr(...single, "relaunch", "--reconcile", "--json");
    expect(relaunch.stderr).toBe("");
    const second = await fixture.mgr(
      ...single,
      "turn",
      "submit",
      "--prompt",
      "again\nFAST",
      "--wait",
      "--json",
    );
    expect(second.json()).toMatchObject({ status: "completed" });
    const stopped = await fixture.mgr(...single, "stop", "--json");
    expect(stopped.json()).toMatchObject({ success: true, surviving_pids: [] });
    expect(await fixture.sessions()).toEqual(["work"]);
    await fixture.tmux("send-keys", "-t", "=work:0.0", "echo it-is-$((40 + 2))", "Enter");
    await until("a shell", async () =>
      (await fixture.tmux("capture-pane", "-p", "-t", "=work:0.0")).includes("it-is-42"),
    );
  }, 120_000);

  test("a pane where something runs is not adopted for a headless agent", async () => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", ["sh", "-c", "sleep 600; exit"]);
    const words = [...joinAs, "--headless", "--tool", "demo", "--json"];
    const joined = await fixture.run("svc-mgr", words, await inside(fixture));
    expect(joined.error()).toMatchObject({
      error: "precondition_failed",
      detail: expect.stringContaining("sleep"),
    });
  }, 120_000);

  test("with its arguments given can be launched again in its pane", async () => {
    await using fixture = createCliFixture();
    const log = join(fixture.folder, "agent.log");
    await fixture.startSession("work", demo(fixture, "--log", log));
    await until("the agent to be there", () => existsSync(log));
    const joined = await fixture.run(
      "svc-mgr",
      ["agents", "self", "join", "--agent-name", "joined", "--launch-args=--log", `--launch-args=${log}`],
      await inside(fixture),
    );
    expect(joined.exitCode).toBe(0);
    const [, , pane, pid] = (await windowZero(fixture)).split(" ");
    const words = ["agents", "single", "--agent-name", "joined", "relaunch", "--reconcile", "--json"];
    expect((await fixture.mgr(...words)).json()).toMatchObject({ in_place: true, tmux_session_name: "work" });
    const [, , samePane, otherPid] = (await windowZero(fixture)).split(" ");
    expect(samePane).toBe(pane ?? "");
    expect(otherPid).not.toBe(pid ?? "");
  }, 120_000);

  test("is served in the foreground by `svc-gateway join`, and again after that", async () => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", demo(fixture));
    const serve = async () => {
      const words = ["join", "--tmux-session", "work", "--agent-name", "joined", "--json"];
      const child = Bun.spawn([...fixture.command("svc-gateway"), ...words], {
        env: fixture.env,
        cwd: fixture.workdir,
        stdout: "pipe",
        stderr: "inherit",
      });
      const reader = child.stdout.getReader();
      const ready = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as Record<
        string,
        unknown
      >;
      const status = await fixture.mgr(
        "agents",
        "single",
        "--agent-name",
        "joined",
        "gateway",
        "status",
        "--json",
      );
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
      return { ready, status: status.json() };
    };
    const first = await until("the demo agent to be found", () => serve().catch(() => null));
    expect(first.ready).toMatchObject({ event: "ready", agent_name: "joined", launched: true });
    expect(first.status).toMatchObject({ gateway_health: "healthy", execution_mode: "detached_process" });
    const second = await serve();
    expect(second.ready).toMatchObject({ launched: false, session_root: first.ready["session_root"] });
    await fixture.mgr("agents", "single", "--agent-name", "joined", "stop");
  }, 120_000);
});

describe("nothing is adopted", () => {
  const cases: { id: string; program: string[]; flags: string[]; says: string; exitCode: number }[] = [
    { id: "where no agent runs", program: ["sleep", "60"], flags: [], says: "there is: sleep", exitCode: 1 },
    {
      id: "of a tool that is not the one that was named",
      program: ["sleep", "60"],
      flags: ["--tool", "claude"],
      says: "claude does not run",
      exitCode: 1,
    },
    {
      id: "of a tool that nobody knows",
      program: ["sleep", "60"],
      flags: ["--tool", "nope"],
      says: "known are",
      exitCode: 2,
    },
  ];
  test.each(cases)("$id", async ({ program, flags, says, exitCode }) => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", program);
    const words = ["agents", "self", "join", "--agent-name", "joined", ...flags];
    const run = await fixture.run("svc-mgr", words, await inside(fixture));
    expect(run.exitCode).toBe(exitCode);
    expect(run.stderr).toContain(says);
    expect((await fixture.mgr("agents", "list", "--json")).json()).toEqual({
      agents: [],
      ignored: [],
      orphans: [],
    });
    expect(existsSync(join(fixture.folder, "home/.local/state/svc/runtime"))).toBe(false);
  });

  test("in a session without a window 0, and the way there is reported", async () => {
    await using fixture = createCliFixture();
    await fixture.startSession("work", ["sleep", "60"]);
    await fixture.tmux("move-window", "-s", "=work:0", "-t", "=work:3");
    const run = await fixture.run("svc-gateway", ["join", "--tmux-session", "work"]);
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain("tmux move-window -s '=work:3' -t '=work:0'");
  });

  test("outside of tmux", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.mgr("agents", "self", "join", "--agent-name", "joined");
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain("TMUX_PANE");
  });
});
