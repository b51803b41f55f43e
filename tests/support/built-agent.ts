import { copyFileSync, existsSync, linkSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createClock } from "../../src/system/clock.ts";
import { type CliFixture, createCliFixture, type Program } from "./cli-fixture.ts";
import { parseDemoLog } from "./demo-log.ts";
import type { ProviderRun } from "./headless-fixture.ts";
import { until } from "./until.ts";

/**
 * A scripted agent whose gateway is a process of ours, from the program itself: it can be killed at any
 * moment.
 */
export interface BuiltAgent {
  name: string;
  sessionRoot: string;
  /** The gateway that serves; null while none does. */
  client(): GatewayClient | null;
  pid(): number | null;
  /** When the last of its gateways was started, as the clock on the wall; 0 when there was none. */
  startedAtMs(): number;
  /**
   * Starts a gateway. True once it serves, false when `kill` came before. Throws what it complained about
   * when it ended by itself.
   */
  serve(): Promise<boolean>;
  /** SIGKILL; resolves when the process is gone. False when there was none. */
  kill(): Promise<boolean>;
  /** SIGTERM and the end: the exit code, or the signal that ended it. */
  stop(): Promise<number | string>;
  /** What the terminal agent itself says that it received and did. */
  log(): DemoLogRecord[];
  /** What the headless agent itself says of its runs. */
  runs(): ProviderRun[];
}

const client = (port: number) =>
  createGatewayClient({
    clock: createClock(),
    baseUrl: `http://127.0.0.1:${port}`,
    token: null,
    respectProxyEnvironment: false,
  });

/**
 * A fixture of the executables in `dist`, under names of their own: a build meanwhile changes nothing in it.
 */
export function createBuiltFixture(dist: string): CliFixture {
  const fixture = createCliFixture({ executable: join(dist, "svc-gateway") });
  for (const name of ["svc-gateway", "svc-coord"]) {
    // In an installed package a name is a link.
    const file = realpathSync(join(dist, name));
    try {
      linkSync(file, join(fixture.folder, name));
    } catch {
      copyFileSync(file, join(fixture.folder, name));
    }
  }
  const command = (program: Program) =>
    program === "svc-mgr" ? [join(fixture.folder, "svc-gateway"), "mgr"] : [join(fixture.folder, program)];
  return { ...fixture, command };
}

// A terminal is believed sooner than usual, so that a run takes less time.
const timings = ["--tui-stability-threshold-seconds=0.15", "--tui-completion-stability-seconds=0.15"];

/** `flags`: of `agents launch`. */
export async function launchBuilt(
  fixture: CliFixture,
  name: string,
  flags: readonly string[] = [],
): Promise<BuiltAgent> {
  const log = join(fixture.folder, `${name}.log`);
  const conversations = flags.includes("--headless")
    ? ["--state", join(fixture.folder, `${name}.chats`)]
    : [];
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, "--no-gateway", ...flags];
  const launch = await fixture.mgr(...words, "--json", "--", "--log", log, ...conversations);
  if (launch.exitCode !== 0) throw new Error(`launch: ${launch.stderr}`);
  const sessionRoot = String(launch.json()["session_root"]);
  const paths = sessionPaths(sessionRoot);
  let startedAtMs = 0;
  let serving: { child: Bun.Subprocess; client: GatewayClient | null; killed: boolean } | null = null;
  const logged = () => (existsSync(log) ? readFileSync(log, "utf8") : "");

  function portOf(pid: number): number | null {
    try {
      const found = JSON.parse(readFileSync(paths.currentInstance, "utf8")) as { pid: number; port: number };
      return found.pid === pid ? found.port : null;
    } catch {
      return null;
    }
  }

  return {
    name,
    sessionRoot,
    client: () => (serving && !serving.killed && serving.child.exitCode === null ? serving.client : null),
    pid: () => serving?.child.pid ?? null,
    startedAtMs: () => startedAtMs,
    async serve() {
      const command = [...fixture.command("svc-gateway"), "serve", "--session-root", sessionRoot, ...timings];
      startedAtMs = Date.now();
      const child = Bun.spawn(command, {
        env: fixture.env,
        cwd: fixture.workdir,
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      });
      const mine: NonNullable<typeof serving> = { child, client: null, killed: false };
      serving = mine;
      const complaints = new Response(child.stderr).text();
      const gone = () => child.exitCode !== null || child.signalCode !== null;
      const port = await until(`${name} serves`, () => portOf(child.pid) ?? (gone() ? -1 : null), 60_000);
      if (port > 0) mine.client = client(port);
      if (!mine.killed && gone()) throw new Error(`the gateway of ${name} ended: ${await complaints}`);
      return !mine.killed;
    },
    async kill() {
      if (!serving || serving.killed) return false;
      serving.killed = true;
      serving.child.kill("SIGKILL");
      await serving.child.exited;
      return true;
    },
    async stop() {
      if (!serving) return "none";
      serving.child.kill("SIGTERM");
      await serving.child.exited;
      return serving.child.signalCode ?? serving.child.exitCode ?? "unknown";
    },
    log: () => parseDemoLog(logged()),
    runs: () =>
      logged()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ProviderRun),
  };
}
