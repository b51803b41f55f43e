import { expect } from "bun:test";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";
import type { TurnProcess } from "../../../src/protocol/turn-files.ts";
import type { TurnStatusRecord } from "../../../src/protocol/turns.ts";
import type { ReceivedRequest } from "../../support/model-server/records.ts";
import { type ModelServer, type Part, startModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import type { InstalledCli, LabTool } from "./cli-cache.ts";
import { type ManagerRun, runManager } from "./programs.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import type { Stage } from "./staged-steps.ts";
import type { Transport } from "./tool-facts.ts";

/**
 * A headless agent, launched and driven through the command line and its gateway, with its scripted model.
 */
export interface HeadlessSession extends Stage {
  tool: LabTool;
  transport: Transport;
  model: ModelServer;
  box: Sandbox;
  sessionRoot: string;
  /** Where the lab installed the tool, links resolved. */
  cliFolder: string;
  baseUrl(): string;
  gatewayPid(): number;
  /** `svc-mgr agents single --agent-name NAME` with these words. */
  mgr(words: readonly string[], input?: string): Promise<ManagerRun>;
  /** One call of the gateway: status and parsed body; a POST with a body. */
  call<T = Record<string, unknown>>(path: string, body?: object): Promise<{ status: number; body: T }>;
  /** Queues the prompt as the turn of this id, given by standard input, and returns at once. */
  begin(turnId: string, prompt: string, ...flags: string[]): Promise<{ requestId: string }>;
  /** The same, and the turn's record at its end. */
  turn(turnId: string, prompt: string, ...flags: string[]): Promise<TurnStatusRecord>;
  request(requestId: string): Promise<RequestRecord>;
  /** What reached the model as a turn with this text as its newest, oldest first. */
  heard(text: string): ReceivedRequest[];
  /** The turn's tool, once it was started. */
  provider(turnId: string): Promise<{ pid: number }>;
}

/**
 * `asks`: the tool asks before it acts; else it is launched unattended. `part`: what the model plays instead
 * of its directives.
 */
export async function openHeadlessSession(
  cli: InstalledCli,
  { transport, asks = false, part }: { transport: Transport; asks?: boolean; part?: Part },
): Promise<HeadlessSession> {
  const { tool } = cli;
  const model = startModelServer(part ? { part } : {});
  const box = createSandbox(cli, model.url, { trusted: true, unattended: !asks });
  const name = `lab-${tool}`;
  const launched = transport === "acp" ? `${tool}-acp` : tool;
  const words = ["agents", "launch", "--tool", launched, "--agent-name", name, "--headless"];
  // opencode has no flag of this kind: its seed allows everything.
  const flags = asks || launched === "opencode" ? [] : ["--unattended"];
  const launch = await runManager(box, [...words, ...flags, "--gateway-background", "--json"]);
  if (launch.exitCode !== 0) {
    await box[Symbol.asyncDispose]();
    await model.stop();
    throw new Error(`the launch ended with ${launch.exitCode}:\n${launch.stdout}\n${launch.stderr}`);
  }
  const { session_root: sessionRoot } = launch.json<{ session_root: string }>();
  const current = () =>
    JSON.parse(readFileSync(join(sessionRoot, "gateway/run/current-instance.json"), "utf8")) as {
      pid: number;
      port: number;
    };
  const session: HeadlessSession = {
    tool,
    transport,
    model,
    box,
    sessionRoot,
    cliFolder: realpathSync(dirname(cli.binFolder)),
    baseUrl: () => `http://127.0.0.1:${current().port}`,
    gatewayPid: () => current().pid,
    mgr: (more, input) => runManager(box, ["agents", "single", "--agent-name", name, ...more], input),
    async call<T>(path: string, body?: object) {
      const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const post = body ? { method: "POST", ...json } : {};
      const reply = await fetch(session.baseUrl() + path, { ...post, proxy: false });
      return { status: reply.status, body: (await reply.json()) as T };
    },
    async begin(turnId, prompt, ...more) {
      const run = await session.mgr(["turn", "submit", "--turn-id", turnId, "--json", ...more], prompt);
      expect([run.exitCode, run.stderr]).toEqual([0, ""]);
      return { requestId: String(run.json()["request_id"]) };
    },
    async turn(turnId, prompt, ...more) {
      const wish = ["turn", "submit", "--turn-id", turnId, "--wait", "--timeout", "130", "--json", ...more];
      const run = await session.mgr(wish, prompt);
      const record = run.json<TurnStatusRecord>();
      expect([record.turn_id, run.exitCode]).toEqual([turnId, record.status === "completed" ? 0 : 1]);
      return record;
    },
    request: async (requestId) => (await session.call<RequestRecord>(`/v1/requests/${requestId}`)).body,
    heard: (text) =>
      model
        .received()
        .filter((one) => one.purpose === "turn" && !one.tool_answered && one.newest_user_text === text),
    provider: (turnId) =>
      until(`the tool of ${turnId}`, () => {
        const file = join(sessionRoot, "manifest.turn-artifacts", turnId, "process.json");
        if (!existsSync(file)) return null;
        const { child_pid: pid } = JSON.parse(readFileSync(file, "utf8")) as TurnProcess;
        return pid !== null && { pid };
      }),
    account: () => accountOf(session),
    end: () => endSession(session),
  };
  return session;
}

/** A stop through the command line ends agent, gateway and tmux. */
async function endSession({ box, model, mgr }: HeadlessSession): Promise<void> {
  const stop = await mgr(["stop", "--json"]);
  const left = await until("the end of all processes", () => box.processes().length === 0, 45_000).then(
    () => [],
    () => box.processes(),
  );
  await box[Symbol.asyncDispose]();
  await model.stop();
  expect({ exitCode: stop.exitCode, said: stop.stderr, left }).toEqual({ exitCode: 0, said: "", left: [] });
}

async function accountOf({ model, mgr, call }: HeadlessSession): Promise<string> {
  const attempt = async (what: string, tell: () => unknown) => {
    try {
      const told = await tell();
      return `${what}:\n${typeof told === "string" ? told : JSON.stringify(told, null, 1)}`;
    } catch (error) {
      return `${what}: ${error}`;
    }
  };
  const say = async (...words: string[]) => {
    const { stdout, stderr } = await mgr(words);
    return `${stdout}${stderr}`.slice(-4000);
  };
  const received = model.received().map((one) => {
    const texts = one.all_user_texts.map((text) => text.slice(-60));
    return `#${one.sequence} ${one.purpose} ${one.model} ${one.outcome} ${JSON.stringify(texts)}`;
  });
  return (
    await Promise.all([
      attempt("newest turn", () => say("turn", "status")),
      attempt("its events", () => say("turn", "events")),
      attempt("its standard error", () => say("turn", "stderr")),
      attempt("control state", async () => (await call("/v1/control/headless/state")).body),
      attempt("newest requests", async () => (await call("/v1/requests?limit=3")).body),
      attempt("model received", () => received.slice(-12).join("\n")),
    ])
  ).join("\n\n");
}
