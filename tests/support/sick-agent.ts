import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayEvent } from "../../src/protocol/events.ts";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { type CliFixture, type CliRun, createCliFixture } from "./cli-fixture.ts";
import { parseDemoLog } from "./demo-log.ts";
import { json } from "./http-surface.ts";
import { until } from "./until.ts";

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A scripted agent and its gateway, both the compiled executable, on a machine that is about to fall ill. */
export interface SickAgent extends AsyncDisposable {
  name: string;
  fixture: CliFixture;
  sessionRoot: string;
  tmuxSession: string;
  paths: ReturnType<typeof sessionPaths>;
  /**
   * The gateway's answer to a GET, or to `method` (POST) with `body`. Rejects when none comes within a
   * minute.
   */
  ask(path: string, body?: object, method?: string): Promise<Answer>;
  prompt(text: string): Promise<Answer>;
  /** The record of a request that has ended. */
  ended(requestId: unknown): Promise<RequestRecord>;
  /** What the agent itself says that it was given, oldest first. */
  heard(): string[];
  events(): GatewayEvent[];
  gatewayPid(): number;
  /** By signal; resolves when the process is gone. */
  killGateway(signal?: NodeJS.Signals): Promise<void>;
  /** `svc-mgr agents single --agent-name NAME` with these words. */
  mgr(...words: string[]): Promise<CliRun>;
  /** The same in this process: see `CliFixture`. */
  runHere(...words: string[]): Promise<CliRun>;
  /** A gateway in the background, as a person starts one. */
  attach(): Promise<CliRun>;
}

const executable = join(import.meta.dir, "../../dist/svc-gateway");

export const createSickFixture = () => createCliFixture({ executable });

/**
 * `stateHome`: where every file of ours goes. `name`: `worker` unless given. `fixture`: one that agents share
 * and whose owner ends it; else the agent's own. `flags`: of `agents launch`; `agentFlags`: of the scripted
 * agent.
 */
export async function launchSick(
  options: {
    fixture?: CliFixture;
    name?: string;
    stateHome?: string;
    flags?: readonly string[];
    agentFlags?: readonly string[];
    env?: Record<string, string>;
    cwd?: string;
  } = {},
): Promise<SickAgent> {
  const { fixture = createSickFixture(), name = "worker", flags = [], agentFlags = [] } = options;
  if (!options.fixture) {
    Object.assign(fixture.env, options.env, options.stateHome ? { XDG_STATE_HOME: options.stateHome } : {});
  }
  const log = join(fixture.folder, `${name}.log`);
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags];
  const ofAgent = ["--gateway-background", "--json", "--", "--log", log, ...agentFlags];
  const launch = await fixture.run("svc-mgr", [...words, ...ofAgent], {
    env: { ...fixture.env, ...options.env },
    ...(options.cwd ? { cwd: options.cwd } : {}),
  });
  if (launch.exitCode !== 0) throw new Error(`launch: ${launch.stderr}${launch.stdout}`);
  const sessionRoot = String(launch.json()["session_root"]);
  const tmuxSession = String(launch.json()["tmux_session_name"]);
  const paths = sessionPaths(sessionRoot);
  let known = currentInstance(paths.currentInstance);

  const current = () => {
    // A gateway that cannot write leaves the record of an earlier one, or none.
    try {
      known = currentInstance(paths.currentInstance);
    } catch {
      // It is gone, or damaged by the test.
    }
    return known;
  };
  /** What a gateway asks for, as it stood when it was started. */
  const readToken = () => (existsSync(paths.token) ? readFileSync(paths.token, "utf8").trim() : null);
  let token = readToken();
  const agent: SickAgent = {
    name,
    fixture,
    sessionRoot,
    tmuxSession,
    paths,
    async ask(path, body, method) {
      const init: RequestInit =
        body === undefined ? { method: method ?? "GET" } : json(body, method ?? "POST");
      const reply = await fetch(`http://127.0.0.1:${current().port}${path}`, {
        ...init,
        headers: { ...init.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
        proxy: false,
        signal: AbortSignal.timeout(60_000),
      } as RequestInit);
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    },
    prompt: (text) => agent.ask("/v1/requests", { kind: "submit_prompt", payload: { prompt: text } }),
    ended: (requestId) =>
      until(
        `the end of ${requestId}`,
        async () => {
          const { body } = await agent.ask(`/v1/requests/${requestId}`);
          const record = body as unknown as RequestRecord;
          return record.state === "completed" || record.state === "failed" ? record : null;
        },
        60_000,
      ),
    heard: () =>
      existsSync(log)
        ? parseDemoLog(readFileSync(log, "utf8")).flatMap((one) =>
            one.kind === "submitted" ? [one.text] : [],
          )
        : [],
    events: () =>
      readFileSync(paths.events, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as GatewayEvent),
    gatewayPid: () => current().pid,
    async killGateway(signal = "SIGKILL") {
      const { pid } = current();
      process.kill(pid, signal);
      await until("the end of the gateway", () => !fixture.alive(pid), 60_000);
    },
    mgr: (...more) => fixture.mgr("agents", "single", "--agent-name", name, ...more),
    runHere: (...more) => fixture.runHere("agents", "single", "--agent-name", name, ...more),
    async attach() {
      const run = await agent.mgr("gateway", "attach", "--background", "--json");
      if (run.exitCode === 0) token = readToken();
      return run;
    },
    [Symbol.asyncDispose]: async () => void (options.fixture ? null : await fixture[Symbol.asyncDispose]()),
  };
  return agent;
}

function currentInstance(path: string): { pid: number; port: number } {
  return JSON.parse(readFileSync(path, "utf8")) as { pid: number; port: number };
}
