import { join } from "node:path";
import type {
  AcceptedRequest,
  GatewayRequest,
  GatewayStatus,
  PromptControlRequest,
  RequestRecord,
} from "../../../src/protocol/gateway.ts";
import type { DecisionAnswer, TerminalHistory, TerminalState } from "../../../src/protocol/terminal.ts";
import type { InstalledCli } from "./cli-cache.ts";
import { commandOf } from "./programs.ts";
import type { Sandbox } from "./sandbox.ts";

/** The line that `svc-gateway run --json` prints when it serves. */
interface ReadyLine {
  event: "ready";
  base_url: string;
  session_root: string;
  tmux_session_name: string;
  agent_name: string;
  agent_id: string;
}

interface Reply<T> {
  status: number;
  body: T;
}

/** A real gateway process beside a real agent, known only through its HTTP interface. */
export interface LabGateway {
  ready: ReadyLine;
  submit(request: GatewayRequest): Promise<Reply<AcceptedRequest>>;
  request(requestId: string): Promise<RequestRecord>;
  /** All stored requests, newest first. */
  requests(): Promise<{ requests: RequestRecord[] }>;
  /** The reply of a direct prompt, whatever its status. */
  direct(body: PromptControlRequest): Promise<Reply<unknown>>;
  /** Answers the question on the screen; the reply, whatever its status. */
  decide(answer: DecisionAnswer): Promise<Reply<unknown>>;
  /** Presses `<[Key]>` tokens and types text; the reply, whatever its status. */
  keys(sequence: string): Promise<Reply<unknown>>;
  state(): Promise<TerminalState>;
  /** The newest samples, newest last. */
  history(limit: number): Promise<TerminalHistory>;
  status(): Promise<GatewayStatus>;
  /** What the agent's terminal shows now, and its title: for the account of a failure. */
  screen(): string;
  /** All that the gateway wrote to its standard error. */
  complaints(): string;
  /** SIGTERM, and the exit code; rejects when the process outlives it by 15 s. */
  stop(): Promise<number>;
}

/**
 * Starts the gateway and its agent. `command`: the gateway, by default ours; `flags`: further ones of its
 * `run`; `agentName`: `lab-TOOL` by default. Rejects with what the gateway said when it is not ready within
 * 60 s.
 */
export async function startLabGateway(
  cli: InstalledCli,
  box: Sandbox,
  {
    command,
    flags = [],
    agentName = `lab-${cli.tool}`,
  }: { command?: readonly string[] | undefined; flags?: readonly string[]; agentName?: string } = {},
): Promise<LabGateway> {
  const gateway = command ?? commandOf("svc-gateway");
  const run = ["run", "--json", "--tool", cli.tool, "--agent-name", agentName, "--workdir", box.work];
  const child = Bun.spawn([...gateway, ...run, "--port", "0", ...flags, "--", ...box.args], {
    cwd: box.work,
    env: box.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let complaints = "";
  const collecting = collect(child.stderr, (text) => {
    complaints += text;
  });
  const ready = await within(60_000, "the gateway's ready line", readyLine(child.stdout)).catch(
    async (error) => {
      child.kill("SIGKILL");
      await collecting;
      throw new Error(`${error instanceof Error ? error.message : error}; the gateway said:\n${complaints}`);
    },
  );
  const call = async <T>(method: string, path: string, body?: unknown): Promise<Reply<T>> => {
    const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(ready.base_url + path, { method, proxy: false, ...(body ? json : {}) });
    return { status: response.status, body: (await response.json()) as T };
  };
  const read = async <T>(path: string): Promise<T> => {
    const { status, body } = await call<T>("GET", path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  return {
    ready,
    submit: (request) => call("POST", "/v1/requests", request),
    request: (requestId) => read(`/v1/requests/${requestId}`),
    requests: () => read("/v1/requests"),
    direct: (body) => call("POST", "/v1/control/prompt", body),
    decide: (answer) => call("POST", "/v1/control/tui/decide", answer),
    keys: (sequence) => call("POST", "/v1/control/send-keys", { sequence }),
    state: () => read("/v1/control/tui/state"),
    history: (limit) => read(`/v1/control/tui/history?limit=${limit}`),
    status: () => read("/v1/status"),
    screen() {
      const target = ["-t", `=${ready.tmux_session_name}:0`];
      const title = box.tmux("display-message", "-p", ...target, "#{pane_title}").trim();
      return `title: ${title}\n${box.tmux("capture-pane", "-p", ...target).trimEnd()}`;
    },
    complaints: () => complaints,
    async stop() {
      child.kill("SIGTERM");
      return within(15_000, "the gateway's end", child.exited);
    },
  };
}

/** Where the gateway writes its address for others, for a look beside the ready line. */
export function currentInstanceFile(ready: ReadyLine): string {
  return join(ready.session_root, "gateway/run/current-instance.json");
}

async function readyLine(stdout: ReadableStream<Uint8Array>): Promise<ReadyLine> {
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of stdout) {
    said += decoder.decode(chunk, { stream: true });
    const line = said.split("\n").find((text) => text.includes('"ready"'));
    if (line !== undefined && said.includes(`${line}\n`)) return JSON.parse(line) as ReadyLine;
  }
  throw new Error(`the gateway ended before it was ready; it printed ${JSON.stringify(said)}`);
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
}

function within<T>(limitMs: number, what: string, task: Promise<T>): Promise<T> {
  return new Promise((resolve_, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not come within ${limitMs} ms`)), limitMs);
    task.then(resolve_, reject).finally(() => clearTimeout(timer));
  });
}
