import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCliLab } from "../support/cli-lab.ts";

const lab = createCliLab();
afterAll(() => lab[Symbol.asyncDispose]());
const launch = () =>
  lab.mgr(
    ...["agents", "launch", "--tool", "demo", "--agent-name", "again", "--gateway-background", "--json"],
  );

test("a gateway whose tmux server died is ended when its name is launched again", async () => {
  const first = (await launch()).json();
  const instance = join(String(first["session_root"]), "gateway", "run", "current-instance.json");
  const { pid } = JSON.parse(readFileSync(instance, "utf8"));
  Bun.spawnSync(["tmux", "-S", lab.socket, "-N", "kill-server"]);

  const second = await launch();
  expect([second.exitCode, second.json()["gateway_port"]]).toEqual([0, expect.any(Number)]);
  expect(lab.alive(pid)).toBe(false);
  const listed = (await lab.mgr("agents", "list", "--json")).json();
  expect(listed["agents"]).toMatchObject([
    { session_root: second.json()["session_root"], lifecycle_state: "active" },
  ]);
}, 30_000);
