import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createCliFixture } from "../support/cli-fixture.ts";

const processes = createProcesses({ steps: quietSteps });

describe("the programs", () => {
  test.each(["svc-mgr", "svc-gateway", "svc-coord"] as const)(
    "%s says its version and its help",
    async (program) => {
      await using fixture = createCliFixture();
      const version = await fixture.run(program, ["--version"]);
      expect(version).toMatchObject({ exitCode: 0, stderr: "" });
      expect(version.stdout).toMatch(/^\d+\.\d+\.\d+/);
      const help = await fixture.run(program, ["--help"]);
      expect(help).toMatchObject({ exitCode: 0, stderr: "" });
      expect(help.stdout).toContain(`Usage:\n  ${program} `);
    },
  );

  test("one executable beside an agent is enough: `svc-gateway mgr` is the command line", async () => {
    await using fixture = createCliFixture();
    const list = await fixture.run("svc-gateway", ["mgr", "agents", "list", "--json"]);
    expect(list.json()).toEqual({ agents: [], ignored: [], orphans: [] });
    expect((await fixture.run("svc-coord", ["list", "--json"])).json()).toEqual({
      agents: [],
      ignored: [],
      orphans: [],
    });
  });

  test("looking leaves nothing in an empty home", async () => {
    await using fixture = createCliFixture();
    await fixture.mgr("agents", "list");
    await fixture.mgr("doctor");
    const { stdout } = await processes.run(["find", join(fixture.folder, "home"), "-mindepth", "1"]);
    expect(stdout).toBe("");
  });
});

describe("errors", () => {
  test("of use are 2, on stderr, with the way to the help", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.mgr("agents", "single", "--agent-nmae", "x", "state");
    expect(run).toMatchObject({ exitCode: 2, stdout: "" });
    expect(run.stderr).toBe(
      'Error: unknown option "--agent-nmae"; did you mean "--agent-name"?\nSee: svc-mgr agents single --help\n',
    );
  });

  test("of an unknown agent are 1, and a document with --json", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.mgr("agents", "single", "--agent-name", "nobody", "state", "--json");
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    expect(run.error()).toMatchObject({ error: "not_found" });
  });

  test("a relative root is named", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.run("svc-mgr", ["agents", "list"], {
      env: { ...fixture.env, SVC_GLOBAL_REGISTRY_DIR: "here" },
    });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain("SVC_GLOBAL_REGISTRY_DIR must be an absolute path");
  });
});

test("a reader that has gone is no error", async () => {
  await using fixture = createCliFixture();
  const program = fixture
    .command("svc-mgr")
    .map((word) => `'${word}'`)
    .join(" ");
  const script = `{ ${program} agents launch --help; echo $? > code; } | true`;
  const { stderr } = await processes.run(["sh", "-c", script], {
    env: fixture.env,
    cwd: fixture.workdir,
    timeoutMs: 60_000,
  });
  expect(stderr).toBe("");
  expect(readFileSync(join(fixture.workdir, "code"), "utf8")).toBe("0\n");
});

describe("completion", () => {
  test.each<{ id: string; words: string[]; want: string[] }>([
    { id: "commands", words: ["agents", "si"], want: ["single"] },
    {
      id: "deeper commands",
      words: ["agents", "single", "gateway", ""],
      want: [
        "attach",
        "detach",
        "status",
        "prompt",
        "send-keys",
        "interrupt",
        "reconcile",
        "keep-requests",
        "tui",
        "reminders",
        "mail-notifier",
      ],
    },
    {
      id: "flags of the command and of its groups",
      words: ["agents", "single", "state", "--agent-"],
      want: ["--agent-name", "--agent-id"],
    },
    { id: "the words of a closed set", words: ["agents", "list", "--state", "st"], want: ["stopped"] },
  ])("knows $id", async ({ words, want }) => {
    await using fixture = createCliFixture();
    const { stdout } = await fixture.mgr("complete", "--", ...words);
    const offered = stdout
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith(":"))
      .map((line) => line.split("\t")[0]);
    expect(offered).toEqual(want);
  });
});

describe("doctor", () => {
  test("finds nothing needed missing, and tools that are not there are no fault", async () => {
    await using fixture = createCliFixture();
    const bin = join(fixture.folder, "bin");
    mkdirSync(bin);
    await processes.run(["ln", "-s", Bun.which("tmux") ?? "", join(bin, "tmux")]);
    const run = await fixture.run("svc-mgr", ["doctor", "--json"], { env: { ...fixture.env, PATH: bin } });
    expect(run.exitCode).toBe(0);
    const { healthy, checks } = run.json() as {
      healthy: boolean;
      checks: { name: string; verdict: string }[];
    };
    expect(healthy).toBe(true);
    const check = (name: string) => checks.find((one) => one.name === name);
    expect(check("claude")).toMatchObject({
      verdict: "absent",
      remedy: expect.stringContaining("@anthropic-ai/claude-code"),
    });
    expect(check("PATH")).toMatchObject({
      verdict: "warning",
      remedy: expect.stringContaining("export PATH="),
    });
    expect(check("orphans")).toMatchObject({ verdict: "ok" });
  });

  test("reports a tool of another version than the recorded ones, and one that does not start", async () => {
    await using fixture = createCliFixture();
    const bin = join(fixture.folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "claude"), "#!/bin/sh\necho '99.1.0 (Claude Code)'\n", { mode: 0o755 });
    writeFileSync(join(bin, "codex"), "#!/nowhere/interpreter\n", { mode: 0o755 });
    writeFileSync(join(bin, "gemini"), "#!/bin/sh\necho 0.61.0\n", { mode: 0o755 });
    const env = { ...fixture.env, PATH: `${bin}:${fixture.env["PATH"]}` };
    const run = await fixture.run("svc-mgr", ["doctor", "--json"], { env });
    const { checks } = run.json() as { checks: { name: string; verdict: string; detail: string }[] };
    const check = (name: string) => checks.find((one) => one.name === name);
    expect(check("claude")).toMatchObject({
      verdict: "warning",
      detail: expect.stringMatching(/99\.1\.0; its screens were recorded with \d/),
    });
    expect(check("codex")).toMatchObject({
      verdict: "warning",
      detail: expect.stringContaining("does not start"),
      remedy: expect.stringContaining("@openai/codex"),
    });
    expect(check("gemini")).toMatchObject({ verdict: "ok", remedy: null });
  });

  test("reports a folder that cannot be made, and ports that collide", async () => {
    await using fixture = createCliFixture();
    const file = join(fixture.folder, "file");
    writeFileSync(file, "");
    const env = { ...fixture.env, SVC_GLOBAL_REGISTRY_DIR: join(file, "registry") };
    const broken = await fixture.run("svc-mgr", ["doctor"], { env });
    expect(broken.exitCode).toBe(1);
    expect(broken.stdout).toContain(`registry  ${file} is a file, not a folder`);
    const launch = ["agents", "launch", "--tool", "demo", "--no-gateway", "--agent-name"];
    for (const name of ["one", "two"]) {
      const made = (await fixture.mgr(...launch, name, "--json")).json();
      const wish = { schema_version: 1, desired_execution_mode: "detached_process", desired_port: 4711 };
      writeFileSync(
        join(String(made["session_root"]), "gateway", "desired-config.json"),
        JSON.stringify(wish),
      );
    }
    const { stdout } = await fixture.mgr("doctor");
    expect(stdout).toMatch(/look +ports of gateways +4711 is asked for by one and two/);
  }, 120_000);

  test("without tmux ends with 1 and says what to do", async () => {
    await using fixture = createCliFixture();
    const run = await fixture.run("svc-mgr", ["doctor"], {
      env: { ...fixture.env, PATH: join(fixture.folder, "home") },
    });
    expect(run.exitCode).toBe(1);
    expect(run.stdout).toMatch(/MISSING +tmux +tmux is not installed/);
    expect(run.stdout).toContain("tmux: install tmux 3.2 or later");
    expect(run.stdout).toContain("Something needed is missing or damaged.");
  });

  test("an agent whose tmux is gone is shown as gone, and cleaned up only when asked", async () => {
    await using fixture = createCliFixture();
    await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "lost", "--no-gateway");
    await processes.run(["tmux", "-S", fixture.socket, "-N", "kill-server"]);
    expect((await fixture.mgr("agents", "list")).stdout).toMatch(/lost +\S+ +demo +gone +unavailable/);
    const look = await fixture.mgr("doctor");
    expect(look.stdout).toMatch(/look +registry +lost: tmux session SVC-lost-\d+ is gone/);
    expect((await fixture.mgr("doctor", "--fix")).stdout).toContain("cleaned up: 1");
    const after = await fixture.mgr("agents", "list", "--state", "all", "--json");
    expect(after.json()).toMatchObject({ agents: [{ agent_name: "lost", lifecycle_state: "stopped" }] });
  }, 120_000);
});
