import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliContext, openCliContext } from "../../src/cli/command-line/cli-context.ts";
import { loadSignals } from "../../src/cli/extensions.ts";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { type LaunchedSession, launchAgent } from "../../src/services/sessions/launch.ts";
import { chooseTool } from "../../src/services/sessions/launch-tools.ts";
import { openSessionFolder } from "../../src/services/sessions/session-folder.ts";
import { parseDemoLog } from "./demo-log.ts";
import { faultEnvironment, type Moment } from "./fault-steps.ts";
import { createTmux, type TmuxFixture } from "./tmux.ts";

const gatewayEntry = join(import.meta.dir, "faulty-gateway.ts");

/** Scripted agents in real tmux, and gateways beside them that can be made to die. */
export interface FaultFixture extends AsyncDisposable {
  tmux: TmuxFixture;
  world: CliContext;
  /** What every process of the fixture sees of a person. */
  env: Record<string, string>;
  launch(name: string): Promise<FaultAgent>;
}

export interface FaultAgent extends LaunchedSession {
  /** What the scripted agent says that it received and did, from its start on. */
  log(): DemoLogRecord[];
  screen(): Promise<string>;
  /** One gateway at a time. */
  serve(options?: ServeOptions): Promise<GatewayProcess>;
}

interface ServeOptions {
  /** Dies there. */
  kill?: Moment;
  /** Dies so many milliseconds after its process was started. */
  killAfterMs?: number;
  /** File that gets every label that was passed. */
  trace?: string;
  /**
   * Another program that serves the session root given as its last argument and prints `ready <base url>`.
   */
  command?: readonly string[];
}

export interface GatewayProcess extends AsyncDisposable {
  pid: number;
  /** Null for a gateway that died before it served. */
  client: GatewayClient | null;
  /** The exit code, or the signal that ended it. */
  exited: Promise<number | string>;
  /** TERM, and the end. */
  stop(): Promise<number | string>;
  kill(): Promise<void>;
  /** What it wrote to its standard error. */
  complaints: Promise<string>;
}

export async function createFaultFixture(): Promise<FaultFixture> {
  const tmux = await createTmux();
  const { folder, clock } = tmux;
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

  const started = new Set<{ kill(signal: "SIGKILL"): void; exited: Promise<unknown> }>();

  async function serve(sessionRoot: string, options: ServeOptions): Promise<GatewayProcess> {
    const { kill, killAfterMs, trace, command = [process.execPath, gatewayEntry] } = options;
    const child = Bun.spawn([...command, sessionRoot], {
      env: {
        ...env,
        ...(trace === undefined ? {} : { [faultEnvironment.trace]: trace }),
        ...(kill === undefined ? {} : { [faultEnvironment.kill]: JSON.stringify(kill) }),
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    started.add(child);
    if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    const complaints = new Response(child.stderr).text();
    const exited = child.exited.then(() => child.signalCode ?? child.exitCode ?? "unknown");
    const baseUrl = await readyUrl(child.stdout);
    return {
      pid: child.pid,
      client:
        baseUrl === null
          ? null
          : createGatewayClient({ clock, baseUrl, token: null, respectProxyEnvironment: false }),
      exited,
      complaints,
      async stop() {
        // Under a tracer the child is not the gateway itself.
        const pid = openSessionFolder(tmux.files, sessionRoot).readCurrentInstance()?.pid;
        if (pid !== undefined) tmux.processes.signal(pid, "SIGTERM");
        else child.kill("SIGTERM");
        return exited;
      },
      async kill() {
        child.kill("SIGKILL");
        await exited;
      },
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL");
        await exited;
      },
    };
  }

  return {
    tmux,
    world,
    env,
    async launch(name) {
      const logPath = join(folder, `${name}.jsonl`);
      const session = await launchAgent(
        { ...world, planSignals: await loadSignals() },
        {
          tool: chooseTool(world.tools, "demo"),
          agentName: name,
          workdir: folder,
          args: ["--log", logPath],
        },
      );
      return {
        ...session,
        log: () => (existsSync(logPath) ? parseDemoLog(readFileSync(logPath, "utf8")) : []),
        screen: () => tmux.screen(session.manifest.tmux.primary_pane_id ?? ""),
        serve: (options = {}) => serve(session.sessionRoot, options),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const child of started) child.kill("SIGKILL");
      await Promise.all([...started].map((child) => child.exited));
      await tmux[Symbol.asyncDispose]();
      endStuckClients(tmux.socket);
    },
  };
}

/**
 * tmux 3.3a: a control client whose reader was killed with output unread never leaves, and holds its server,
 * which waits for it. Both are known by the private socket in their arguments.
 */
function endStuckClients(socket: string): void {
  for (const name of existsSync("/proc") ? readdirSync("/proc") : []) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const argv = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (argv[0] === "tmux" && argv.includes(socket)) process.kill(Number(name), "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
}

/** The address on the line `ready <base url>`; null when the process ended without it. */
async function readyUrl(output: ReadableStream<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true });
    const found = /^ready (\S+)\n/m.exec(text);
    if (found) return found[1] ?? null;
  }
  return null;
}
