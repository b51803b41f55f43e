import { dlopen, ptr } from "bun:ffi";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type CliContext, openCliContext } from "../../src/cli/command-line/cli-context.ts";
import { loadSignals } from "../../src/cli/extensions.ts";
import { renderJson } from "../../src/protocol/json.ts";
import { runtimeSettings } from "../../src/services/sessions/environment.ts";
import { type LaunchedSession, launchAgent } from "../../src/services/sessions/launch.ts";
import { chooseTool } from "../../src/services/sessions/launch-tools.ts";
import { buildRecord } from "../../src/services/sessions/record.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { sampleManifest } from "../support/session-samples.ts";
import { someAtOnce } from "../support/some-at-once.ts";
import { createTmux, type TmuxFixture } from "../support/tmux.ts";
import { until } from "../support/until.ts";

const launchedAtOnce = 4;

const libc = dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } });

const repositoryRoot = join(import.meta.dir, "..", "..");
const compiled = join(repositoryRoot, "dist", "svc-gateway");

/** The gateway that is measured: the executable where it was built, otherwise the source. */
export const gatewayKind = existsSync(compiled) ? "compiled" : "from source";
const gatewayCommand =
  gatewayKind === "compiled"
    ? [compiled]
    : [process.execPath, join(repositoryRoot, "src/cli/svc-gateway.ts")];

/** Scripted agents in a tmux server of their own, and gateway processes beside them. */
export interface BenchFixture extends AsyncDisposable {
  tmux: TmuxFixture;
  world: CliContext;
  /** `args`: of the scripted agent. */
  launch(name: string, args?: readonly string[]): Promise<BenchAgent>;
  /**
   * Agents with gateways that serve and are ready, in the order of their names; some are launched at a time.
   */
  launchMany(names: readonly string[], args?: readonly string[]): Promise<ServedGateway[]>;
  /** An agent of which only the registry and its manifest know. */
  register(name: string): Promise<void>;
  /** A coordination server over all of them. */
  coordinate(): Promise<Coordinator>;
  /** A process of `svc-coord`, by the words of its command line, that has said that it is ready. */
  startCoord(words: readonly string[]): Promise<CoordProcess>;
}

interface CoordProcess extends AsyncDisposable {
  pid: number;
  /** What it said once it was ready. */
  ready: Record<string, string>;
}

export interface Coordinator extends AsyncDisposable {
  pid: number;
  baseUrl: string;
  ask(path: string): Promise<unknown>;
}

export interface BenchAgent extends LaunchedSession {
  paneId: string;
  /** The gateway process, started; it may not yet answer. */
  start(port: number): ServedGateway;
  /** The same, answering, and with a first look at the agent behind it. */
  serve(): Promise<ServedGateway>;
}

export interface ServedGateway {
  pid: number;
  baseUrl: string;
  status(): Promise<Record<string, unknown>>;
  submit(prompt: string): Promise<void>;
  /** Resolves when the agent may begin a turn and nothing is queued. */
  whenReady(): Promise<void>;
  stop(): Promise<void>;
}

export async function createBenchFixture(): Promise<BenchFixture> {
  const tmux = await createTmux();
  const { folder } = tmux;
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: join(folder, "home"),
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    XDG_STATE_HOME: join(folder, "state"),
    SVC_TMUX_SOCKET: tmux.socket,
  };
  const world = openCliContext({ env, cwd: folder, home: env.HOME });
  const gateways = new Set<ServedGateway>();

  function start(sessionRoot: string, port: number): ServedGateway {
    const command = [...gatewayCommand, "serve", "--session-root", sessionRoot, "--port", String(port)];
    const child = Bun.spawn(command, {
      // As an attach starts it.
      env: { ...env, ...runtimeSettings },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const baseUrl = `http://127.0.0.1:${port}`;
    const gateway: ServedGateway = {
      pid: child.pid,
      baseUrl,
      status: async () => (await direct(`${baseUrl}/v1/status`)).json() as Promise<Record<string, unknown>>,
      async submit(prompt) {
        const reply = await direct(`${baseUrl}/v1/requests`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ kind: "submit_prompt", payload: { prompt } }),
        });
        if (reply.status !== 202) throw new Error(`${reply.status} ${await reply.text()}`);
      },
      whenReady: async () => {
        await until("the agent is ready", async () => {
          const status = await gateway.status();
          return status["terminal_surface_eligibility"] === "ready" && status["queue_depth"] === 0;
        });
      },
      async stop() {
        gateways.delete(gateway);
        child.kill("SIGTERM");
        await child.exited;
      },
    };
    gateways.add(gateway);
    return gateway;
  }

  const fixture: BenchFixture = {
    tmux,
    world,
    async launch(name, args = []) {
      const session = await launchAgent(
        { ...world, planSignals: await loadSignals() },
        {
          tool: chooseTool(world.tools, "demo"),
          agentName: name,
          workdir: folder,
          args: [...args],
        },
      );
      const { sessionRoot } = session;
      return {
        ...session,
        paneId: session.manifest.tmux.primary_pane_id ?? "",
        start: (port) => start(sessionRoot, port),
        async serve() {
          const gateway = start(sessionRoot, await freePort());
          await until("the gateway serves", () => existsSync(sessionPaths(sessionRoot).currentInstance));
          await until("the agent is seen", async () => {
            return (await gateway.status())["managed_agent_connectivity"] === "connected";
          });
          return gateway;
        },
      };
    },
    async launchMany(names, args) {
      const gateways: ServedGateway[] = [];
      await someAtOnce(names.entries(), launchedAtOnce, async ([number, name]) => {
        gateways[number] = await (await fixture.launch(name, args)).serve();
      });
      for (const gateway of gateways) await gateway.whenReady();
      return gateways;
    },
    register: (name) => register(world, folder, tmux.socket, name),
    async coordinate() {
      const { pid, ready, ...ending } = await fixture.startCoord(["serve", "--port", "0"]);
      const baseUrl = ready["api_base_url"] ?? "";
      return { pid, baseUrl, ask: (path) => ask(`${baseUrl}${path}`), ...ending };
    },
    startCoord: (words) => startCoord(world.env, folder, words),
    async [Symbol.asyncDispose]() {
      await Promise.all([...gateways].map((gateway) => gateway.stop()));
      await tmux[Symbol.asyncDispose]();
    },
  };
  return fixture;
}

async function register(
  { files, registry, clock }: CliContext,
  folder: string,
  socket: string,
  agentName: string,
): Promise<void> {
  const manifest = sampleManifest({
    agentName,
    agentId: `id-${agentName}`,
    generationId: `generation-${agentName}`,
    sessionId: `local_interactive-20261121-044700Z-${Bun.hash.crc32(agentName).toString(16).padStart(8, "0")}`,
    tmux: {
      sessionName: `SVC-${agentName}`,
      windowName: "agent",
      windowId: "@0",
      paneId: "%0",
      socket,
    },
  });
  const sessionRoot = join(folder, "others", agentName);
  const manifestPath = join(sessionRoot, "manifest.json");
  files.ensureDirectory("bench", sessionRoot);
  files.write("bench", manifestPath, renderJson(manifest), { durable: false });
  await registry.publish(buildRecord({ manifest, manifestPath, sessionRoot, nowMs: clock.nowMs() }));
}

async function startCoord(
  env: CliContext["env"],
  cwd: string,
  words: readonly string[],
): Promise<CoordProcess> {
  mkdirSync(env["HOME"] ?? "", { recursive: true });
  const program = join(repositoryRoot, "dist", "svc-coord");
  const command = existsSync(program)
    ? [program]
    : [process.execPath, join(repositoryRoot, "src/cli/svc-coord.ts")];
  const child = Bun.spawn([...command, ...words, "--json"], {
    env: { ...env },
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(`svc-coord ${words[0]} did not start`);
  return {
    pid: child.pid,
    ready: JSON.parse(new TextDecoder().decode(value)) as Record<string, string>,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

export async function ask(url: string): Promise<unknown> {
  const reply = await fetch(url, { proxy: false } as RequestInit);
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  return reply.json();
}

/**
 * A request that no proxy variable diverts. It keeps no connection, as no command of ours does: beside a kept
 * one Bun's server looks once a second whether it timed out, which costs more than the rest of an idle
 * gateway.
 */
function direct(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, connection: "close" };
  return fetch(url, { ...init, headers, proxy: false } as RequestInit);
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/**
 * Processor time of a process, all its threads, also those that ended; nanoseconds. The ticks of /proc are 10
 * ms, a twentieth of a percent of 20 s, so the process's own clock is asked.
 */
export function cpuNanoseconds(pid: number): number {
  const time = new BigInt64Array(2);
  const clockOfProcess = (~pid << 3) | 2;
  if (libc.symbols.clock_gettime(clockOfProcess, ptr(time)) !== 0) throw new Error(`no process ${pid}`);
  const [seconds = 0n, nanoseconds = 0n] = time;
  return Number(seconds * 1_000_000_000n + nanoseconds);
}

/**
 * Of one core, of all these processes together, over `watchMs` after `settleMs` in which nobody asks them
 * anything.
 */
export async function idleCpuPercent(
  pids: readonly number[],
  { settleMs, watchMs }: { settleMs: number; watchMs: number },
): Promise<number> {
  const spentMs = () => pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0) / 1e6;
  await Bun.sleep(settleMs);
  const [startedMs, before] = [performance.now(), spentMs()];
  await Bun.sleep(watchMs);
  return ((spentMs() - before) / (performance.now() - startedMs)) * 100;
}

/**
 * Memory of a process, megabytes. `pss`: its pages, each divided by the number of processes that share it.
 * `anonymous`: what no other process can share; the rest is the executable.
 */
export function memoryMegabytes(pid: number): { pss: number; anonymous: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { pss: field("Pss"), anonymous: field("Anonymous") };
}
