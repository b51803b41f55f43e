import { expect } from "bun:test";
import { sayAtOnce } from "../../support/model-server/scenario.ts";
import { type ModelServer, type Part, startModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import type { InstalledCli, LabTool } from "./cli-cache.ts";
import { launchMailAgent, type MailAgent } from "./mail-session.ts";
import { processesMarked } from "./processes.ts";
import { runManager } from "./programs.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import type { Stage } from "./staged-steps.ts";

/**
 * The tool in its terminal with our MCP server installed by our command, and two scripted agents beside it.
 */
export interface McpSession extends Stage {
  tool: LabTool;
  model: ModelServer;
  box: Sandbox;
  worker: MailAgent;
  /** Does the task. */
  partner: MailAgent;
  /** Gets the report by mail. */
  reader: MailAgent;
}

/** What the worker is told first; its model hands the task to the partner and says the request's id. */
export const begin = "DELEGATE the harbor";
/** What it is told later: wait for that request, mail the answer to the reader and say it. */
export const finish = (requestId: string) => `DELEGATED as ${requestId}`;
export const report = (answer: string) => `The partner says: ${answer}`;

/**
 * The part of a model that works with our tools alone, one call after the other. Other prompts are not its
 * business.
 */
const delegatingPart: Part = ({ prompt, toolResults }) => {
  const call = (tool: string, input: object) => ({ ...sayAtOnce("ok"), mcp: { tool, input } });
  const results = toolResults.map(readResult);
  const last = results.at(-1);
  if (prompt === begin) {
    if (last === undefined) return call("prompt_agent", { agent: "partner", prompt: "describe the harbor" });
    return sayAtOnce(`handed over as ${last["request_id"] ?? toolResults.at(-1)}`);
  }
  const requestId = /^DELEGATED as (\S+)$/.exec(prompt)?.[1];
  if (requestId === undefined) return null;
  const ended = results.find((one) => one["done"] === true);
  if (ended === undefined) {
    if (last !== undefined && last["done"] !== false) return sayAtOnce(`broken off: ${toolResults.at(-1)}`);
    return call("wait", { agent: "partner", request_id: requestId });
  }
  const answer = String(ended["answer"]);
  if (last === ended) return call("send_mail", { to: ["reader"], subject: "report", body: answer });
  return sayAtOnce(report(answer));
};

/** The object in what a tool gave, which its CLI may have put words around. */
function readResult(text: string): Record<string, unknown> {
  for (const candidate of [text, text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)]) {
    try {
      const value: unknown = JSON.parse(candidate);
      if (Array.isArray(value)) return readResult(String((value[0] as { text?: unknown })?.text));
      if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    } catch {
      // The next one.
    }
  }
  return {};
}

export async function openMcpSession(cli: InstalledCli): Promise<McpSession> {
  const model = startModelServer({ part: delegatingPart });
  const box = createSandbox(cli, model.url, { trusted: true, unattended: true });
  try {
    const installed = await runManager(box, ["mcp", "install", "--tool", cli.tool]);
    if (installed.exitCode !== 0) throw new Error(`the server: ${installed.stdout}\n${installed.stderr}`);
    const unattended = cli.tool === "opencode" ? [] : ["--unattended"];
    const partner = await launchMailAgent(box, "partner", ["demo"], []);
    const reader = await launchMailAgent(box, "reader", ["demo"], []);
    const worker = await launchMailAgent(box, "worker", [cli.tool, ...unattended], box.args);
    const session: McpSession = {
      tool: cli.tool,
      model,
      box,
      worker,
      partner,
      reader,
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

/** Our servers, by the home: codex starts them with few variables, and without the mark of the sandbox. */
export const serversIn = ({ home }: Sandbox) =>
  processesMarked("HOME", home).filter(({ command }) => command.includes("mcp serve"));

async function endSession({ box, model, ...agents }: McpSession): Promise<void> {
  const stops = [];
  for (const one of [agents.worker, agents.partner, agents.reader])
    stops.push((await one.mgr("stop")).exitCode);
  const alive = () => [...box.processes(), ...serversIn(box)];
  const left = await until("the end of all processes", () => alive().length === 0, 45_000).then(
    () => [],
    () => alive(),
  );
  await box[Symbol.asyncDispose]();
  await model.stop();
  expect({ stops, left }).toEqual({ stops: [0, 0, 0], left: [] });
}

function accountOf({ model, box, worker }: McpSession): string {
  const received = model.received().map((one) => {
    const { sequence, purpose, outcome, newest_user_text: text, tool_results: results } = one;
    return `#${sequence} ${purpose} ${outcome} ${JSON.stringify(text.slice(0, 80))} ${JSON.stringify(results.at(-1)?.slice(-400))}`;
  });
  const screen = box.tmux("capture-pane", "-p", "-t", `=${worker.tmuxSession}:0`).trimEnd();
  return `screen:\n${screen}\n\nmodel received:\n${received.slice(-20).join("\n")}`;
}
