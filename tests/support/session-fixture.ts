import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openTmux } from "../../src/cli/command-line/tmux-socket.ts";
import { planSignals } from "../../src/services/extensions/bridges/signals/handover.ts";
import type { StopAgentDeps } from "../../src/services/fleet/stop-agent.ts";
import type { LaunchDeps, LaunchRequest } from "../../src/services/sessions/launch.ts";
import type { LaunchTool } from "../../src/services/sessions/launch-tools.ts";
import { createManifestStore } from "../../src/services/sessions/manifest.ts";
import { createSessionAlive } from "../../src/services/sessions/record.ts";
import { createRegistry } from "../../src/services/sessions/registry.ts";
import { openSessionFolder } from "../../src/services/sessions/session-folder.ts";
import { createLocks, type Locks } from "../../src/system/locks.ts";
import { createTmux, type TmuxFixture } from "./tmux.ts";
import { until } from "./until.ts";

export const standInAgent = join(import.meta.dir, "stand-in-agent.sh");
export const standInGateway = join(import.meta.dir, "stand-in-gateway.ts");

/** Everything a launch and a stop need, on a tmux server and in folders of their own. */
export interface SessionFixture extends AsyncDisposable {
  tmux: TmuxFixture;
  deps: LaunchDeps & StopAgentDeps & { locks: Locks };
  tool: LaunchTool;
  /** A launch of the stand-in agent in the fixture's folder. */
  request(changes?: Partial<LaunchRequest>): LaunchRequest;
  /** What the stand-in said about how it was started: `cwd=`, `arg=` and `NAME=value` lines. */
  report(): Promise<string[]>;
  /** Resolves when the process says of itself that it serves the session. */
  whenServedBy(sessionRoot: string, pid: number): Promise<unknown>;
  whenGone(pid: number): Promise<unknown>;
  /** Names of the sessions of the fixture's server. */
  sessions(): Promise<string[]>;
}

export async function createSessionFixture(): Promise<SessionFixture> {
  const tmux = await createTmux();
  const { clock, files, ids, steps, processes, folder } = tmux;
  const locks = createLocks({ clock });
  const tmuxFor = (socket: string | undefined, registered?: string) =>
    openTmux({ clock, files, locks, processes, steps }, socket, {}, registered).tmux;
  const sessionAlive = createSessionAlive(tmuxFor);
  const reportPath = join(folder, "report");
  const person = {
    PATH: process.env["PATH"] ?? "",
    HOME: join(folder, "home"),
    LANG: "C.UTF-8",
    STAND_IN_REPORT: reportPath,
  };
  const tool: LaunchTool = {
    tool: "stand-in",
    command: [standInAgent],
    installHint: "It stands in tests/support.",
    occupies: ({ argv }) => argv.includes(standInAgent),
    profile: null,
    homeVariable: "STAND_IN_HOME",
    ownAutoMode: null,
    unattendedArgs: ["--unattended"],
    headless: false,
  };
  return {
    tmux,
    tool,
    deps: {
      files,
      ids,
      clock,
      processes,
      steps,
      locks,
      sessionAlive,
      tmuxFor,
      env: person,
      tmux: tmux.tmux,
      registry: createRegistry({ files, locks, clock, root: join(folder, "registry"), sessionAlive }),
      manifests: createManifestStore({ files, locks }),
      runtimeRoot: join(folder, "runtime"),
      tools: [tool],
      personEnvironment: person,
      planSignals: (system, tool) => planSignals(system, ["svc-gateway", "gateway", "signal"], tool),
    },
    request: (changes = {}) => ({ tool, agentName: "worker", workdir: folder, args: [], ...changes }),
    report: async () => {
      await until("the stand-in's report", () => existsSync(reportPath));
      return readFileSync(reportPath, "utf8").trimEnd().split("\n");
    },
    whenServedBy: (sessionRoot, pid) =>
      until(
        "the gateway's record",
        () => openSessionFolder(files, sessionRoot).readCurrentInstance()?.pid === pid,
      ),
    whenGone: (pid) => until("the end of the process", () => !processes.alive(pid)),
    sessions: async () => (await tmux.tmux.sessions()).map((session) => session.name),
    [Symbol.asyncDispose]: () => tmux[Symbol.asyncDispose](),
  };
}
