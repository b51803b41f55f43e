import { expect, test } from "bun:test";
import { join } from "node:path";
import { createFaultFixture } from "../support/fault-fixture.ts";
import { faultEnvironment, type Moment } from "../support/fault-steps.ts";

const entry = join(import.meta.dir, "../support/faulty-launch.ts");
const svcMgr = join(import.meta.dir, "../../src/cli/svc-mgr.ts");

test("an agent whose launch was cut short is reported, found again when it is whole, else ended by hand", async () => {
  await using fixture = await createFaultFixture();
  const { processes, folder } = fixture.tmux;
  const run = (command: string[], more: Record<string, string> = {}) =>
    processes.run([process.execPath, ...command], {
      cwd: folder,
      timeoutMs: 60_000,
      env: { ...fixture.env, ...more },
    });
  const mgr = (...words: string[]) => run([svcMgr, ...words]);
  const die = async (name: string, moment: Moment) => {
    const kill = {
      [faultEnvironment.trace]: join(folder, `${name}.trace`),
      [faultEnvironment.kill]: JSON.stringify(moment),
    };
    expect((await run([entry, "launch", name], kill)).exitCode).toBeNull();
  };
  // The record is the last thing that a launch writes, its manifest comes somewhat before.
  await die("whole", { label: "file:registry-record", nth: 1, when: "before" });
  await die("bare", { label: "launch.session", nth: 1, when: "after" });

  const list = await mgr("agents", "list", "--json");
  const { agents, orphans } = JSON.parse(list.stdout) as {
    agents: unknown[];
    orphans: Record<string, unknown>[];
  };
  expect(agents).toEqual([]);
  expect(orphans.map((one) => one["agent_name"])).toEqual(["bare", "whole"]);
  expect(list.stderr).toContain('find "whole" again with: svc-mgr doctor --fix');

  const look = JSON.parse((await mgr("doctor", "--json")).stdout) as {
    checks: { name: string; verdict: string; detail: string; remedy: string }[];
  };
  const check = look.checks.find(({ name }) => name === "orphans");
  expect(check?.verdict).toBe("damaged");
  expect((await mgr("doctor", "--fix")).stdout).toContain("SVC-bare-");
  expect(await mgr("agents", "single", "--agent-name", "whole", "state")).toMatchObject({ exitCode: 0 });
  expect(await mgr("agents", "single", "--agent-name", "whole", "stop")).toMatchObject({ exitCode: 0 });

  // The line that is printed for the other one, as a person would type it.
  const line = /tmux .*kill-session -t '=SVC-bare-\d+'/.exec(check?.remedy ?? "")?.[0] ?? "";
  expect(await processes.run(["sh", "-c", line], { env: fixture.env })).toMatchObject({ exitCode: 0 });
  const after = JSON.parse((await mgr("agents", "list", "--state", "all", "--json")).stdout);
  expect(after).toMatchObject({ agents: [{ agent_name: "whole", lifecycle_state: "stopped" }], orphans: [] });
}, 120_000);

test("a launch that is under way is nobody's orphan", async () => {
  await using fixture = await createFaultFixture();
  const { tmux, world } = fixture;
  const { findOrphans } = await import("../../src/services/sessions/orphans.ts");
  const { launchMark } = await import("../../src/services/sessions/launch-mark.ts");
  const root = world.roots.runtimeRoot;
  const registry = { root: world.roots.registryRoot };
  const manifest = join(root, "sessions", "local_interactive", "id", "manifest.json");
  const mark = launchMark(world.processes, {
    agentName: "busy",
    origin: "launched",
    registryRoot: registry.root,
    manifestPath: manifest,
  });
  await tmux.newSession("SVC-busy-1", ["sleep", "600"]);
  await tmux.newSession("of-a-person", ["sleep", "600"]);
  await tmux.run("set-option", "-t", "=SVC-busy-1:", "@svc_launch", mark);
  expect(await findOrphans({ ...world, registry, tmux: tmux.tmux, runtimeRoot: root }, [])).toEqual([]);
  await tmux.run("set-option", "-t", "=SVC-busy-1:", "@svc_launch", `1 not-its-start ${manifest}`);
  expect(await findOrphans({ ...world, registry, tmux: tmux.tmux, runtimeRoot: root }, [])).toMatchObject([
    { tmuxSession: "SVC-busy-1", agentName: "busy", manifest: null },
  ]);
  expect(await findOrphans({ ...world, registry, tmux: tmux.tmux, runtimeRoot: "/elsewhere" }, [])).toEqual(
    [],
  );
}, 120_000);
