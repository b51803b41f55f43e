import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";

/** A launched agent and a gateway in our hands. */
async function serving(lab: CliLab) {
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "left", "--no-gateway", "--json"];
  const root = String((await lab.mgr(...launch)).json()["session_root"]);
  const command = [...lab.command("svc-gateway"), "run", "--tool", "demo", "--agent-name", "left", "--json"];
  const child = Bun.spawn(command, { env: lab.env, cwd: lab.workdir, stdout: "pipe", stderr: "pipe" });
  const { value } = await child.stdout.getReader().read();
  expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({ event: "ready", session_root: root });
  const end = async () => [await child.exited, await new Response(child.stderr).text()];
  return { root, end };
}

test("a gateway whose session folder is removed ends cleanly, and makes nothing of it again", async () => {
  await using lab = createCliLab();
  const { root, end } = await serving(lab);
  rmSync(root, { recursive: true });
  expect(await end()).toEqual([0, ""]);
  expect(existsSync(root)).toBe(false);
  // The agent lives on, as after every end of a gateway.
  expect(await lab.sessions()).toHaveLength(1);
}, 120_000);

test("one that no record names any more ends too, and takes nothing from its successor", async () => {
  await using lab = createCliLab();
  const { root, end } = await serving(lab);
  rmSync(join(root, "gateway", "run", "current-instance.json"));
  expect(await end()).toEqual([0, ""]);
  expect(existsSync(join(root, "gateway", "queue.sqlite"))).toBe(true);
  const status = ["agents", "single", "--agent-name", "left", "gateway"];
  expect(await lab.mgr(...status, "attach", "--background")).toMatchObject({ exitCode: 0 });
  expect(await lab.mgr(...status, "status")).toMatchObject({ exitCode: 0 });
}, 120_000);
