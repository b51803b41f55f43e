import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";
import { until } from "../support/until.ts";

/** Variables of the scripted agent in the session `work`. */
async function environmentOf(lab: CliLab): Promise<Record<string, string>> {
  const root = Number(await lab.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_pid}"));
  const tree = await createProcesses({ steps: quietSteps }).tree(root);
  const agent = tree.findLast(({ argv }) => argv.includes("demo-agent"));
  const lines = readFileSync(`/proc/${agent?.pid}/environ`, "utf8").split("\0");
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

test("every command relaunches a joined agent with the arguments of its join", async () => {
  await using lab = createCliLab();
  const log = join(lab.folder, "agent.log");
  const agent = [...lab.command("svc-gateway"), "demo-agent", "--log", log].join(" ");
  await lab.startSession("work", ["sh", "-c", `${agent}; exec sleep 600`]);
  await until("the agent to be there", () => existsSync(log));
  const pane = await lab.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_id}");
  const joined = await lab.run(
    "svc-mgr",
    [
      ...["agents", "self", "join", "--agent-name", "joined", "--no-gateway", "--launch-args="],
      ...["--launch-env", "TOLD=by-the-join", "--launch-env", "ASKED"],
    ],
    { env: { ...lab.env, TMUX: `${lab.socket},1,0`, TMUX_PANE: pane } },
  );
  expect(joined).toMatchObject({ exitCode: 0, stderr: "" });
  const relaunched = await lab.run("svc-mgr", ["agents", "single", "--agent-name", "joined", "relaunch"], {
    env: { ...lab.env, TOLD: "by-the-shell", ASKED: "by-the-shell" },
  });
  expect(relaunched).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await environmentOf(lab)).toMatchObject({ TOLD: "by-the-join", ASKED: "by-the-shell" });
}, 120_000);
