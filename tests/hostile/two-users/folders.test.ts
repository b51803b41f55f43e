import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCoordinator } from "../../support/coord-server.ts";
import { createSharedMachine, heardBy, listener } from "./shared-machine.ts";

describe("an overlay that another user put above the working directory", () => {
  test("gets no session, no mail and no adoption; work goes on in the state folder", async () => {
    await using at = createSharedMachine();
    const planted = join(at.sticky, ".svc");
    at.other.makeFolder(planted, 0o777);
    at.other.makeFolder(join(planted, "runtime"), 0o777);
    const project = join(at.sticky, "project");
    mkdirSync(project);
    const inProject = (...words: string[]) => at.fixture.run("svc-mgr", words, { cwd: project });
    const launched = await inProject(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "worker",
      "--no-gateway",
      "--json",
    );
    expect(launched.exitCode).toBe(0);
    expect(launched.json()["session_root"]).toStartWith(at.fixture.env["HOME"] ?? "");
    expect(launched.stderr).toContain(`belongs to user ${at.other.uid}`);
    for (const words of [
      ["mailbox", "init"],
      ["overlay", "adopt"],
      ["overlay", "adopt", at.sticky],
    ]) {
      const refused = await inProject(...words);
      expect([words, refused.exitCode]).toEqual([words, 1]);
      expect(refused.stderr).toContain(`belongs to user ${at.other.uid}`);
    }
    expect(readdirSync(planted, { recursive: true })).toEqual(["runtime"]);
    expect((await inProject("doctor")).stdout).toContain("the overlay here");
  }, 120_000);

  test("shows no user where a coordination server is: no token goes to its address", async () => {
    await using at = createSharedMachine();
    const listening = listener(at.other);
    const port = Number(await listening.line());
    const run = join(at.sticky, ".svc/runtime/coordinators/127.0.0.1-9891/run");
    at.other.makeFolder(run, 0o755);
    for (const folder of [".svc", ".svc/runtime", ".svc/runtime/coordinators"]) {
      at.other.makeFolder(join(at.sticky, folder), 0o755);
    }
    at.other.write(
      join(run, "current-instance.json"),
      JSON.stringify({
        schema_version: 1,
        status: "ok",
        pid: listening.pid,
        server_root: run,
        api_base_url: `http://127.0.0.1:${port}`,
        started_at_utc: new Date().toISOString(),
      }),
      0o644,
    );
    const project = join(at.sticky, "project");
    mkdirSync(project);
    const watching = Bun.spawn([...at.fixture.command("svc-mgr"), "agents", "watch", "--json"], {
      env: { ...at.fixture.env, SVC_COORD_TOKEN: "token-of-our-user" },
      cwd: project,
      stdout: "pipe",
      stderr: "pipe",
    });
    try {
      // It asks coordination servers before it shows an agent.
      const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--no-gateway"];
      await at.fixture.run("svc-mgr", words, { cwd: project });
      await watching.stdout.getReader().read();
    } finally {
      watching.kill("SIGTERM");
      await watching.exited;
    }
    expect(heardBy(at)).toBe("");
  }, 120_000);

  test.each(["runtime", "registry"])(
    "a %s root that is named there is refused",
    async (root) => {
      await using at = createSharedMachine();
      const planted = join(at.sticky, "roots");
      at.other.makeFolder(planted, 0o777);
      const refused = await at.fixture.mgr("agents", "list", `--${root}-root`, join(planted, "new"));
      expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`belongs to user ${at.other.uid}`);
    },
    60_000,
  );
});

describe("a file of another user that names programs or roles", () => {
  test("is no tool profile and no role", async () => {
    await using at = createSharedMachine();
    const theirs = join(at.other.home, "file");
    at.other.write(theirs, "[]", 0o644);
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--headless"];
    const role = await at.fixture.mgr(...launch, "--no-gateway", "--role-file", theirs);
    expect([role.exitCode, role.stdout]).toEqual([1, ""]);
    expect(role.stderr).toContain(`belongs to user ${at.other.uid}`);
    at.fixture.env["SVC_TOOL_PROFILES"] = theirs;
    for (const words of [launch, ["tools", "list"], ["tools", "show", "--tool", "demo"]]) {
      const refused = await at.fixture.mgr(...words);
      expect([words, refused.exitCode]).toEqual([words, 1]);
      expect(refused.stderr).toContain(`belongs to user ${at.other.uid}`);
    }
  }, 120_000);

  test.each([
    { id: "a brain manifest", field: "brain_manifest_path" },
    { id: "an agent definition", field: "agent_def_dir" },
    { id: "a role file", field: "role_name" },
  ])(
    "$id is refused by a coordination server, and nothing runs",
    async ({ id, field }) => {
      await using at = createSharedMachine();
      const { fixture, other } = at;
      const brain = { schema_version: 3, inputs: { tool: "demo", role_prompt_text: "do as you are asked" } };
      const bad = join(other.home, "bad");
      other.makeFolder(bad, 0o755);
      const ours = join(fixture.folder, "definition");
      mkdirSync(join(ours, "roles/writer"), { recursive: true });
      writeFileSync(join(fixture.folder, "brain.yaml"), JSON.stringify(brain));
      const wish = {
        tool: "demo",
        working_directory: fixture.workdir,
        agent_def_dir: ours,
        role_name: "writer",
        brain_manifest_path: join(fixture.folder, "brain.yaml"),
      };
      if (id === "a brain manifest") {
        wish.brain_manifest_path = join(bad, "brain.yaml");
        other.write(wish.brain_manifest_path, JSON.stringify(brain), 0o644);
      } else if (id === "an agent definition") {
        wish.agent_def_dir = bad;
      } else {
        other.write(join(ours, "roles/writer/system-prompt.md"), "do as I say", 0o644);
      }
      await using server = await startCoordinator(fixture);
      const refused = await server.ask("/svc/agents/headless/launches", wish);
      expect(refused.status).toBe(422);
      expect(JSON.stringify(refused.body)).toContain(field);
      expect(JSON.stringify(refused.body)).toContain(`belongs to user ${other.uid}`);
      expect(await fixture.sessions()).toEqual([]);
    },
    120_000,
  );
});
