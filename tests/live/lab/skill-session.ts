import { expect } from "bun:test";
import { join } from "node:path";
import { type ModelServer, startModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import type { InstalledCli, LabTool } from "./cli-cache.ts";
import { launchMailAgent, type MailAgent } from "./mail-session.ts";
import { runManager } from "./programs.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import { skillPart } from "./skill-part.ts";
import type { Stage } from "./staged-steps.ts";

/** The tool in its terminal with the skills installed by our command, a mailbox, a gateway and a notifier. */
export interface SkillSession extends Stage {
  tool: LabTool;
  model: ModelServer;
  box: Sandbox;
  worker: MailAgent;
  /** The agent's screen, as text. */
  screen(): string;
}

export async function openSkillSession(cli: InstalledCli): Promise<SkillSession> {
  const model = startModelServer({ part: skillPart });
  const box = createSandbox(cli, model.url, { trusted: true, unattended: true });
  try {
    const folder = cli.tool === "opencode" ? ".config/opencode" : `.${cli.tool}`;
    const home = ["--home", join(box.home, folder)];
    // Both forms are shown, each with two of the tools.
    const form = cli.tool === "claude" || cli.tool === "gemini" ? ["--symlink"] : [];
    const install = ["system-skills", "install", "--tool", cli.tool, ...home, ...form];
    const installed = await runManager(box, install);
    if (installed.exitCode !== 0) throw new Error(`the skills: ${installed.stdout}\n${installed.stderr}`);
    const unattended = cli.tool === "opencode" ? [] : ["--unattended"];
    const worker = await launchMailAgent(box, "worker", [cli.tool, ...unattended], box.args);
    const session: SkillSession = {
      tool: cli.tool,
      model,
      box,
      worker,
      screen: () => box.tmux("capture-pane", "-p", "-t", `=${worker.tmuxSession}:0`).trimEnd(),
      account: async () => accountOf(session),
      end: () => endSession(session),
    };
    return session;
  } catch (error) {
    await box[Symbol.asyncDispose]();
    await model.stop();
    throw error;
  }
}

async function endSession({ box, model, worker }: SkillSession): Promise<void> {
  const stop = await worker.mgr("stop");
  const left = await until("the end of all processes", () => box.processes().length === 0, 45_000).then(
    () => [],
    () => box.processes(),
  );
  await box[Symbol.asyncDispose]();
  await model.stop();
  expect({ exitCode: stop.exitCode, left }).toEqual({ exitCode: 0, left: [] });
}

function accountOf({ model, screen }: SkillSession): string {
  const received = model.received().map((one) => {
    const { sequence, purpose, outcome, newest_user_text: text, tool_results: results } = one;
    return `#${sequence} ${purpose} ${outcome} ${JSON.stringify(text.slice(0, 80))} ${JSON.stringify(results.at(-1)?.slice(-300))}`;
  });
  let shown: string;
  try {
    shown = screen();
  } catch (error) {
    shown = String(error);
  }
  return `screen:\n${shown}\n\nmodel received:\n${received.slice(-20).join("\n")}`;
}
