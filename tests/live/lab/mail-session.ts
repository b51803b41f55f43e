import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DemoLogEntry } from "../../../src/services/demo/log.ts";
import { parseDemoLog } from "../../support/demo-log.ts";
import { type ModelServer, startModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import type { InstalledCli, LabTool } from "./cli-cache.ts";
import { mailPart } from "./mail-part.ts";
import { type ManagerRun, runManager } from "./programs.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import type { Stage } from "./staged-steps.ts";

/** The tool in its terminal and the scripted agent, each with a mailbox, a gateway and a notifier. */
export interface MailSession extends Stage {
  tool: LabTool;
  model: ModelServer;
  box: Sandbox;
  /** The real tool. */
  worker: MailAgent;
  /** The scripted agent, which works its mail by itself. */
  partner: MailAgent;
  partnerLog(): DemoLogEntry[];
}

export interface MailAgent {
  address: string;
  baseUrl: string;
  sessionRoot: string;
  tmuxSession: string;
  /** `svc-mgr agents single --agent-name NAME` with these words and `--json`. */
  mgr(...words: string[]): Promise<ManagerRun>;
}

export async function openMailSession(cli: InstalledCli): Promise<MailSession> {
  const model = startModelServer({ part: mailPart });
  const box = createSandbox(cli, model.url, { trusted: true, unattended: true });
  const log = join(box.root, "partner.log");
  const script = join(box.root, "partner.json");
  writeFileSync(script, JSON.stringify({ schema_version: 1, mail_rounds: true }));
  try {
    const unattended = cli.tool === "opencode" ? [] : ["--unattended"];
    const worker = await launchMailAgent(box, "worker", [cli.tool, ...unattended], box.args);
    const partner = await launchMailAgent(box, "partner", ["demo"], ["--log", log, "--script", script]);
    const session: MailSession = {
      tool: cli.tool,
      model,
      box,
      worker,
      partner,
      partnerLog: () => parseDemoLog(readFileSync(log, "utf8")),
      account: () => accountOf(session),
      end: () => endSession(session),
    };
    return session;
  } catch (error) {
    await box[Symbol.asyncDispose]();
    await model.stop();
    throw error;
  }
}

/**
 * Launches a tool with a mailbox, a gateway and a notifier. The doorbell alone wakes it: a sweep comes too
 * late to help.
 */
export async function launchMailAgent(
  box: Sandbox,
  name: string,
  [tool, ...flags]: readonly [string, ...string[]] | readonly string[],
  args: readonly string[],
): Promise<MailAgent> {
  const words = ["agents", "launch", "--tool", tool ?? "", "--agent-name", name, ...flags];
  const mailbox = ["--mailbox", "--mailbox-root", join(box.root, "mail"), "--gateway-background"];
  const launch = await runManager(box, [...words, ...mailbox, "--json", "--", ...args]);
  if (launch.exitCode !== 0) throw new Error(`the launch of ${name}: ${launch.stdout}\n${launch.stderr}`);
  const said = launch.json<Record<"gateway_base_url" | "session_root" | "tmux_session_name", string>>();
  const agent: MailAgent = {
    address: `${name}@svc.localhost`,
    baseUrl: said.gateway_base_url,
    sessionRoot: said.session_root,
    tmuxSession: said.tmux_session_name,
    mgr: (...more) => runManager(box, ["agents", "single", "--agent-name", name, ...more, "--json"]),
  };
  const enabled = await agent.mgr("gateway", "mail-notifier", "enable", "--interval-seconds", "3600");
  if (enabled.exitCode !== 0) throw new Error(`the notifier of ${name}: ${enabled.stderr}`);
  return agent;
}

async function endSession({ box, model, worker, partner }: MailSession): Promise<void> {
  const stops = [await worker.mgr("stop"), await partner.mgr("stop")];
  const left = await until("the end of all processes", () => box.processes().length === 0, 45_000).then(
    () => [],
    () => box.processes(),
  );
  await box[Symbol.asyncDispose]();
  await model.stop();
  expect({ exitCodes: stops.map((stop) => stop.exitCode), left }).toEqual({ exitCodes: [0, 0], left: [] });
}

async function accountOf({ box, model, worker, partner, partnerLog }: MailSession): Promise<string> {
  const attempt = async (what: string, tell: () => unknown) => {
    try {
      return `${what}:\n${await tell()}`;
    } catch (error) {
      return `${what}: ${error}`;
    }
  };
  const received = model.received().map((one) => {
    const { sequence, purpose, outcome, newest_user_text: text, tool_results: results } = one;
    return `#${sequence} ${purpose} ${outcome} ${JSON.stringify(text.slice(0, 80))} ${JSON.stringify(results.at(-1)?.slice(-200))}`;
  });
  const agents = [worker, partner].flatMap((agent) => [
    attempt(`screen of ${agent.address}`, () =>
      box.tmux("capture-pane", "-p", "-t", `=${agent.tmuxSession}:0`).trimEnd(),
    ),
    attempt("its state", async () => (await agent.mgr("state")).stdout),
    attempt("its audit", async () =>
      (await agent.mgr("gateway", "mail-notifier", "audit", "--limit", "5")).stdout.slice(0, 4000),
    ),
  ]);
  return (
    await Promise.all([
      ...agents,
      attempt("model received", () => received.slice(-20).join("\n")),
      attempt("the partner's log", () =>
        partnerLog()
          .slice(-10)
          .map((entry) => JSON.stringify(entry).slice(0, 300))
          .join("\n"),
      ),
    ])
  ).join("\n\n");
}
