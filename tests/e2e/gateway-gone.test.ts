import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/** A launched agent and a gateway in our hands. */
async function serving(fixture: CliFixture) {
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "left", "--no-gateway", "--json"];
  const root = String((await fixture.mgr(...launch)).json()["session_root"]);
  const command = [
    ...fixture.command("svc-gateway"),
    "run",
    "--tool",
    "demo",
    "--agent-name",
    "left",
    "--json",
  ];
  const child = Bun.spawn(command, {
    env: fixture.env,
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({ event: "ready", session_root: root });
  const end = async () => [await child.exited, await new Response(child.stderr).text()];
  return { root, end };
}

test("a gateway whose session folder is removed ends cleanly, and makes nothing of it again", async () => {
  await using fixture = createCliFixture();
  const { root, end } = await serving(fixture);
  await until("a folder that is gone", () => {
    // The gateway writes and removes files of its own meanwhile, and Bun's removal then leaves the rest.
    rmSync(root, { recursive: true, force: true });
    return !existsSync(root);
  });
  expect(await end()).toEqual([0, ""]);
  expect(existsSync(root)).toBe(false);
  // The agent lives on, as after every end of a gateway.
  expect(await fixture.sessions()).toHaveLength(1);
}, 120_000);

test("one that no record names any more ends too, and takes nothing from its successor", async () => {
  await using fixture = createCliFixture();
  const { root, end } = await serving(fixture);
  rmSync(join(root, "gateway", "run", "current-instance.json"));
  expect(await end()).toEqual([0, ""]);
  expect(existsSync(join(root, "gateway", "queue.sqlite"))).toBe(true);
  const status = ["agents", "single", "--agent-name", "left", "gateway"];
  expect(await fixture.mgr(...status, "attach", "--background")).toMatchObject({ exitCode: 0 });
  expect(await fixture.mgr(...status, "status")).toMatchObject({ exitCode: 0 });
}, 120_000);
