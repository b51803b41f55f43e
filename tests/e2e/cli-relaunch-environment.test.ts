import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/** Variables of the scripted agent in the session `work`. */
async function environmentOf(fixture: CliFixture): Promise<Record<string, string>> {
  const root = Number(await fixture.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_pid}"));
  const tree = await createProcesses({ steps: quietSteps }).tree(root);
  const agent = tree.findLast(({ argv }) => argv.includes("demo-agent"));
  const lines = readFileSync(`/proc/${agent?.pid}/environ`, "utf8").split("\0");
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

test("every command relaunches a joined agent with the arguments of its join", async () => {
  await using fixture = createCliFixture();
  const log = join(fixture.folder, "agent.log");
  const agent = [...fixture.command("svc-gateway"), "demo-agent", "--log", log].join(" ");
  await fixture.startSession("work", ["sh", "-c", `${agent}; exec sleep 600`]);
  await until("the agent to be there", () => existsSync(log));
  const pane = await fixture.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_id}");
  const joined = await fixture.run(
    "svc-mgr",
    [
      "agents",
      "self",
      "join",
      "--agent-name",
      "joined",
      "--no-gateway",
      "--launch-args=",
      "--launch-env",
      "TOLD=by-the-join",
      "--launch-env",
      "ASKED",
    ],
    { env: { ...fixture.env, TMUX: `${fixture.socket},1,0`, TMUX_PANE: pane } },
  );
  expect(joined).toMatchObject({ exitCode: 0, stderr: "" });
  const relaunched = await fixture.run(
    "svc-mgr",
    ["agents", "single", "--agent-name", "joined", "relaunch"],
    {
      env: { ...fixture.env, TOLD: "by-the-shell", ASKED: "by-the-shell" },
    },
  );
  expect(relaunched).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await environmentOf(fixture)).toMatchObject({ TOLD: "by-the-join", ASKED: "by-the-shell" });
}, 120_000);
