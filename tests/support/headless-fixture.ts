import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import type { TurnProcess } from "../../src/protocol/turn-files.ts";
import type { TurnStatusRecord } from "../../src/protocol/turns.ts";
import { type CliFixture, createCliFixture } from "./cli-fixture.ts";
import { json } from "./http-surface.ts";
import { until } from "./until.ts";

/** What the scripted provider itself says of one run. */
export interface ProviderRun {
  pid: number;
  session_id: string;
  turn: number;
  resume: "new" | "last" | "exact";
  model: string | null;
  effort: string | null;
  prompt: string;
}

/** A headless scripted agent, launched through the command line and driven through its gateway. */
export interface HeadlessAgentFixture extends AsyncDisposable {
  fixture: CliFixture;
  name: string;
  sessionRoot: string;
  tmuxSession: string;
  baseUrl(): string;
  /** One call of the gateway: status and parsed body. */
  call(path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  text(path: string): Promise<string>;
  /** Queues a prompt as the turn of this id. */
  submit(turnId: string, prompt: string, more?: object): Promise<string>;
  request(requestId: string): Promise<RequestRecord>;
  /** Resolves with the record of a request that is neither accepted nor running. */
  settled(requestId: string): Promise<RequestRecord>;
  /** Resolves with the turn's record once it has its final state. */
  ended(turnId: string, timeoutMs?: number): Promise<TurnStatusRecord>;
  /** Resolves once the tool of the turn is running and has been given its prompt. */
  running(turnId: string): Promise<TurnProcess & { child_pid: number }>;
  /** One of the turn's own files; null while it is not there. */
  file(turnId: string, name: string): string | null;
  runs(): ProviderRun[];
  /** `svc-mgr agents single --agent-name NAME` with these words. */
  mgr(...words: string[]): ReturnType<CliFixture["mgr"]>;
  gatewayPid(): number;
  /** Starts a gateway beside the agent whose gateway died. */
  revive(): Promise<void>;
  screen(): Promise<string>;
}

/** `fixture`: where it runs, in place of a new fixture; it ends with the agent. */
export async function launchHeadless(
  options: {
    name?: string;
    flags?: readonly string[];
    executable?: string | undefined;
    fixture?: CliFixture;
    tool?: "demo" | "demo-acp";
  } = {},
): Promise<HeadlessAgentFixture> {
  const fixture = options.fixture ?? createCliFixture(options);
  const { name = "batch", flags = [], tool = "demo" } = options;
  const log = join(fixture.folder, "provider.log");
  const state = join(fixture.folder, "conversations");
  const words = ["agents", "launch", "--tool", tool, "--agent-name", name, "--headless"];
  const where = ["--gateway-background", "--json"];
  const launch = await fixture.mgr(...words, ...flags, ...where, "--", "--log", log, "--state", state);
  if (launch.exitCode !== 0) throw new Error(`launch: ${launch.stderr}`);
  const { session_root: root, tmux_session_name: session } = launch.json() as Record<string, string>;
  const sessionRoot = root ?? "";
  const current = () =>
    JSON.parse(readFileSync(join(sessionRoot, "gateway", "run", "current-instance.json"), "utf8")) as {
      pid: number;
      port: number;
    };
  const read = (turnId: string, file: string) => {
    const path = join(sessionRoot, "manifest.turn-artifacts", turnId, file);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  };
  const agent: HeadlessAgentFixture = {
    fixture,
    name,
    sessionRoot,
    tmuxSession: session ?? "",
    baseUrl: () => `http://127.0.0.1:${current().port}`,
    async call(path, body) {
      const init = { ...(body ? json(body) : {}), proxy: false } as RequestInit;
      const reply = await fetch(`${agent.baseUrl()}${path}`, init);
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    },
    text: async (path) => (await fetch(`${agent.baseUrl()}${path}`, { proxy: false } as RequestInit)).text(),
    async submit(turnId, prompt, more = {}) {
      const payload = { prompt, turn_id: turnId, ...more };
      const { status, body } = await agent.call("/v1/requests", { kind: "submit_prompt", payload });
      if (status !== 202) throw new Error(`submit: ${status} ${JSON.stringify(body)}`);
      return String(body["request_id"]);
    },
    request: async (requestId) =>
      (await agent.call(`/v1/requests/${requestId}`)).body as unknown as RequestRecord,
    // By its record: a gateway that is killed after the commit of the end has reported no event of it.
    settled: (requestId) =>
      until(`the end of ${requestId}`, async () => {
        const record = await agent.request(requestId);
        return record.state === "accepted" || record.state === "running" ? null : record;
      }),
    async ended(turnId, timeoutMs = 60_000) {
      await until(`the end of ${turnId}`, () => read(turnId, "exitcode"), timeoutMs);
      const status = ["turn", "status", turnId, "--json"];
      const run = await fixture.runHere("agents", "single", "--agent-name", name, ...status);
      if (run.exitCode !== 0) throw new Error(`the status of ${turnId}: ${run.stderr}`);
      return JSON.parse(run.stdout) as TurnStatusRecord;
    },
    running: (turnId) =>
      until(`the tool of ${turnId}`, () => {
        const process = JSON.parse(read(turnId, "process.json") ?? "null") as TurnProcess | null;
        const asked = agent.runs().some((run) => run.pid === process?.child_pid);
        return process?.child_pid && asked ? { ...process, child_pid: process.child_pid } : null;
      }),
    file: read,
    runs: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line) as ProviderRun)
        : [],
    mgr: (...more) => fixture.mgr("agents", "single", "--agent-name", name, ...more),
    gatewayPid: () => current().pid,
    async revive() {
      const attach = await agent.mgr("gateway", "attach", "--background");
      if (attach.exitCode !== 0) throw new Error(`attach: ${attach.stderr}`);
    },
    screen: () => fixture.tmux("capture-pane", "-p", "-t", `=${session}:0.0`),
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
    },
  };
  return agent;
}
