import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayEvent } from "../../src/protocol/events.ts";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import { parseDemoLog } from "../../src/services/demo/log.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { type CliLab, type CliRun, createCliLab } from "./cli-lab.ts";
import { json } from "./http-surface.ts";
import { until } from "./until.ts";

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A scripted agent and its gateway, both the compiled executable, on a machine that is about to fall ill. */
export interface SickAgent extends AsyncDisposable {
  lab: CliLab;
  sessionRoot: string;
  paths: ReturnType<typeof sessionPaths>;
  /** The gateway's answer to a GET, or to `method` (POST) with `body`. Rejects when none comes within a minute. */
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
  /** `svc-mgr agents single --agent-name worker` with these words. */
  mgr(...words: string[]): Promise<CliRun>;
  /** A gateway in the background, as a person starts one. */
  attach(): Promise<CliRun>;
}

const executable = join(import.meta.dir, "../../dist/svc-gateway");

/** `stateHome`: where every file of ours goes. */
export async function launchSick(
  options: { stateHome?: string; flags?: readonly string[]; env?: Record<string, string> } = {},
): Promise<SickAgent> {
  const lab = createCliLab({ executable });
  Object.assign(lab.env, options.env, options.stateHome ? { XDG_STATE_HOME: options.stateHome } : {});
  const log = join(lab.folder, "agent.log");
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", ...(options.flags ?? [])];
  const launch = await lab.mgr(...words, "--gateway-background", "--json", "--", "--log", log);
  if (launch.exitCode !== 0) throw new Error(`launch: ${launch.stderr}`);
  const sessionRoot = String(launch.json()["session_root"]);
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
  const agent: SickAgent = {
    ...{ lab, sessionRoot, paths },
    async ask(path, body, method) {
      const init = body === undefined ? { method: method ?? "GET" } : json(body, method ?? "POST");
      const reply = await fetch(`http://127.0.0.1:${current().port}${path}`, {
        ...init,
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
      await until("the end of the gateway", () => !lab.alive(pid), 60_000);
    },
    mgr: (...more) => lab.mgr("agents", "single", "--agent-name", "worker", ...more),
    attach: () => agent.mgr("gateway", "attach", "--background", "--json"),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
  return agent;
}

function currentInstance(path: string): { pid: number; port: number } {
  return JSON.parse(readFileSync(path, "utf8")) as { pid: number; port: number };
}
