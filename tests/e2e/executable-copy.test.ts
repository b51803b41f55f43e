import { expect, test } from "bun:test";
import { copyFileSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createCliFixture } from "../support/cli-fixture.ts";

const built = join(import.meta.dir, "../../dist/svc-gateway");

test("a copy of the executable named svc-mgr launches an agent and its gateway all by itself", async () => {
  await using fixture = createCliFixture();
  const processes = createProcesses({ steps: quietSteps });
  const copy = join(fixture.folder, "svc-mgr");
  copyFileSync(built, copy);
  const mgr = (...words: string[]) =>
    processes.run([copy, ...words, "--json"], { env: fixture.env, cwd: fixture.workdir, timeoutMs: 60_000 });
  const launch = await mgr("agents", "launch", "--tool", "demo", "--agent-name", "worker");
  expect(launch.stderr).toBe("");
  expect(JSON.parse(launch.stdout)).toMatchObject({ tool: "demo", gateway_port: expect.any(Number) });
  const stop = await mgr("agents", "single", "--agent-name", "worker", "stop");
  expect(JSON.parse(stop.stdout)).toMatchObject({ success: true, gateway: "stopped" });
  expect(await fixture.sessions()).toEqual([]);
}, 120_000);

test("a copy checks a file of profiles on the recorded screens, without a checkout", async () => {
  await using fixture = createCliFixture();
  const processes = createProcesses({ steps: quietSteps });
  const copy = join(fixture.folder, "svc-mgr");
  copyFileSync(built, copy);
  const mgr = (...words: string[]) =>
    processes.run([copy, "tools", ...words, "--json"], {
      env: fixture.env,
      cwd: fixture.workdir,
      timeoutMs: 60_000,
    });
  const file = join(fixture.folder, "profiles.json");
  writeFileSync(file, (await mgr("show", "--tool", "claude")).stdout);
  const screens = join(import.meta.dir, "../screens/claude");
  const recordings = readdirSync(screens).flatMap((version) =>
    readdirSync(join(screens, version), { withFileTypes: true }).filter((entry) => entry.isDirectory()),
  ).length;
  const check = await mgr("check", file);
  expect([check.stderr, check.exitCode]).toEqual(["", 0]);
  expect(JSON.parse(check.stdout)).toEqual({
    recordings,
    wrong: 0,
    differences: [],
    sources: [{ source: "svc", recordings }],
  });
}, 60_000);

test.each(["svc-gateway", "svc-coord", "svc-mgr", "svc"])(
  "%s is a file that works when it is copied alone",
  async (name) => {
    await using fixture = createCliFixture();
    const original = join(import.meta.dir, "../../dist", name);
    expect(lstatSync(original).isFile()).toBe(true);
    const copy = join(fixture.folder, name);
    copyFileSync(original, copy);
    const { env, workdir: cwd } = fixture;
    const run = await createProcesses({ steps: quietSteps }).run([copy, "--help"], {
      env,
      cwd,
      timeoutMs: 60_000,
    });
    expect([run.exitCode, run.stdout]).toEqual([0, expect.stringContaining(name)]);
  },
);
