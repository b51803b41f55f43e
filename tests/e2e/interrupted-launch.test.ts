import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../src/cli/command-line/dispatch.ts";
import { managerCommands } from "../../src/cli/mgr.ts";
import { launched } from "../support/cli-agent.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { createFakeIo } from "../support/fake-io.ts";
import { until } from "../support/until.ts";

function begin(fixture: CliFixture, env: Record<string, string>, ...words: string[]) {
  const child = Bun.spawn([...fixture.command("svc"), ...words], {
    env: { ...fixture.env, ...env },
    cwd: fixture.workdir,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = async () => {
    const [exitCode, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()]);
    return { exitCode, stderr };
  };
  return { child, ended };
}

const names = ["t1", "t2", "t3", "t4", "t5"];

test("Ctrl-C ends `up` and `down` between two agents: they say what was done, and go on when called again", async () => {
  await using fixture = createCliFixture();
  const agents = names.map((name) => `  ${name}: { tool: demo }\n`).join("");
  writeFileSync(join(fixture.workdir, "svc.yaml"), `version: 1\nagents:\n${agents}`);
  const running = async () =>
    ((await fixture.mgr("agents", "list", "--json")).json()["agents"] as unknown[]).length;

  const up = begin(fixture, {}, "up", "--yes");
  await until("the first agent", async () => (await fixture.sessions()).length > 0);
  up.child.kill("SIGINT");
  const stopped = await up.ended();
  expect(stopped.exitCode).toBe(130);
  expect(stopped.stderr).toStartWith("Error: interrupted; svc up does the rest when it is called again\n");
  expect(stopped.stderr).toContain("not done: + t5: launch");
  expect(await fixture.sessions()).not.toHaveLength(names.length);

  expect((await fixture.run("svc", ["up", "--yes"])).exitCode).toBe(0);
  expect(await running()).toBe(names.length);

  const down = begin(fixture, {}, "down", "--yes");
  await until("the first to be gone", async () => (await fixture.sessions()).length < names.length);
  down.child.kill("SIGINT");
  const left = await down.ended();
  expect([left.exitCode, left.stderr]).toEqual([130, expect.stringContaining("not done: - t5: stop")]);
  expect(await running()).toBeGreaterThan(0);
  expect((await fixture.run("svc", ["down", "--yes"])).exitCode).toBe(0);
  expect(await fixture.sessions()).toEqual([]);
}, 180_000);

test("an agent whose launch was interrupted once it was there gets its gateway from the next `up`", async () => {
  await using fixture = createCliFixture();
  writeFileSync(
    join(fixture.workdir, "svc.yaml"),
    "version: 1\nagents:\n  a: { tool: demo, mailbox: true }\n",
  );
  const up = begin(fixture, {}, "up", "--yes");
  const folder = join(fixture.env["HOME"] ?? "", ".local/state/svc/registry/live_agents");
  const records = () => (existsSync(folder) ? readdirSync(folder, { recursive: true }) : []);
  await until("its record", () => records().some((path) => String(path).endsWith("/record.json")));
  up.child.kill("SIGINT");
  expect((await up.ended()).exitCode).toBe(130);
  expect((await fixture.run("svc", ["up", "--yes"])).exitCode).toBe(0);
  expect((await fixture.run("svc", ["status"])).stdout).toBe("= a: as the file says\n");
  const { agents } = (await fixture.mgr("agents", "list", "--json")).json();
  expect(agents).toMatchObject([{ agent_name: "a", gateway_base_url: expect.stringContaining("http") }]);
  expect((await fixture.run("svc", ["down", "--yes"])).exitCode).toBe(0);
}, 120_000);

test("the first Ctrl-C ends the wait of `new -w`, and the agent runs", async () => {
  await using fixture = createCliFixture();
  // A tool whose screen never takes a prompt.
  const tool = join(fixture.folder, "claude");
  writeFileSync(tool, "#!/bin/sh\necho nothing known\nsleep 1000\n", { mode: 0o755 });
  const path = `${fixture.folder}:${fixture.env["PATH"]}`;
  const made = begin(fixture, { PATH: path }, "new", "worker", "claude", "-w");
  let shown = "";
  for await (const piece of made.child.stdout) {
    shown += new TextDecoder().decode(piece);
    if (shown.includes("end it:")) break;
  }
  made.child.kill("SIGINT");
  const { exitCode, stderr } = await made.ended();
  expect([exitCode, stderr]).toEqual([
    130,
    expect.stringMatching(/Error: interrupted; the agent runs; wait for it again with: svc .* --for=ready/),
  ]);
  expect(await fixture.sessions()).toHaveLength(1);
  expect((await fixture.run("svc", ["stop", "worker"])).exitCode).toBe(0);
}, 120_000);

test("Ctrl-C in a launch with --force ends no agent, or says that it was ended", async () => {
  await using at = await launched();
  const { env, workdir: cwd } = at.fixture;
  const force = async (signal: AbortSignal) => {
    const io = createFakeIo({ env, cwd, home: env["HOME"] ?? "", interrupted: () => signal });
    const version = async () => ({ version: "1", commit: null, built_at: null }) as never;
    const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--force", "keep-stale"];
    return [await runProgram(managerCommands, version, words, io), io.err];
  };
  expect(await force(AbortSignal.abort())).toEqual([130, "Error: interrupted; nothing was launched\n"]);
  expect(await at.fixture.sessions()).toEqual([at.session]);

  const abort = new AbortController();
  const forced = force(abort.signal);
  await until("the agent to be ended", async () => !(await at.fixture.sessions()).includes(at.session));
  abort.abort();
  expect(await forced).toEqual([130, expect.stringContaining('"worker" was ended; ')]);
  expect(await at.fixture.sessions()).toEqual([]);
}, 120_000);
