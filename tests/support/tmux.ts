import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agentPane,
  createTmux as createPort,
  type Tmux,
  type TmuxPane,
} from "../../src/services/terminal/tmux/command.ts";
import { type ControlConnection, createControlConnection } from "../../src/services/terminal/tmux/control.ts";
import { createTmuxMutex, type TmuxMutex } from "../../src/services/terminal/tmux/mutex.ts";
import { type Clock, createClock } from "../../src/system/clock.ts";
import { createFiles, type Files } from "../../src/system/files.ts";
import { createIds, type Ids } from "../../src/system/ids.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createProcesses, type Processes } from "../../src/system/processes.ts";
import { quietSteps, type Steps } from "../../src/system/steps.ts";
import { until } from "./until.ts";

/** A tmux server of our own: private socket, no configuration, clean environment, empty home. */
export interface TmuxFixture extends AsyncDisposable {
  /** Absolute path, for `SVC_TMUX_SOCKET` and the factories. */
  socket: string;
  /** Private folder, removed at the end; the server's HOME is `<folder>/home`. */
  folder: string;
  clock: Clock;
  ids: Ids;
  files: Files;
  steps: Steps;
  processes: Processes;
  tmux: Tmux;
  mutex: TmuxMutex;
  /** One tmux command; its standard output without the last newline. Throws when tmux refuses. */
  run(...args: string[]): Promise<string>;
  /** A detached session of 120 x 36 with one window `agent` that runs `command`. */
  newSession(name: string, command: readonly string[]): Promise<TmuxPane>;
  /** A started and attached control connection, stopped at the end. `onLog` sees its complaints. */
  control(session: string, processes?: Processes): Promise<ControlConnection>;
  /** The visible screen of a pane. */
  screen(paneId: string): Promise<string>;
  /** Ends the server and with it every session. */
  killServer(): Promise<void>;
  /** Starts the server (again). */
  startServer(): Promise<void>;
}

export async function createTmux(options: { steps?: Steps } = {}): Promise<TmuxFixture> {
  const folder = mkdtempSync(join(tmpdir(), "svc-tmux-"));
  const socket = join(folder, "socket");
  const steps = options.steps ?? quietSteps;
  const clock = createClock();
  const ids = createIds();
  const processes = createProcesses({ steps });
  const mutex = createTmuxMutex({ locks: createLocks({ clock }), clock }, socket);
  const tmux = createPort({ processes, steps, clock, socket, mutex });
  const files = createFiles({ ids, steps });
  const connections: ControlConnection[] = [];
  files.ensureDirectory("fixture", join(folder, "home"));

  const fixture: TmuxFixture = {
    socket,
    folder,
    clock,
    ids,
    files,
    steps,
    processes,
    tmux,
    mutex,
    run: async (...args) => (await tmux.run([args])).join("\n"),
    async newSession(name, command) {
      const size = ["-x", "120", "-y", "36"];
      await tmux.run([["new-session", "-d", "-E", "-s", name, "-n", "agent", ...size, "--", ...command]]);
      const pane = agentPane(await tmux.panes(name), null);
      if (!pane) throw new Error(`session ${name} has no pane`);
      return pane;
    },
    async control(session, through = processes) {
      const log = (message: string) => console.error(`control connection: ${message}`);
      const connection = createControlConnection({ processes: through, clock, mutex, socket, session, log });
      connections.push(connection);
      connection.start();
      await connection.whenConnected(60_000);
      return connection;
    },
    screen: async (paneId) => `${(await tmux.run([["capture-pane", "-p", "-t", paneId]])).join("\n")}\n`,
    async killServer() {
      // tmux 3.3a keeps a control client, and its server with it, when nobody reads the client's output any
      // more.
      const clients = await processes.run([
        "tmux",
        "-S",
        socket,
        "-N",
        "list-clients",
        "-F",
        "#{client_pid}",
      ]);
      for (const pid of clients.stdout.split("\n").map(Number)) if (pid > 1) processes.signal(pid, "SIGKILL");
      await processes.run(["tmux", "-S", socket, "-N", "kill-server"]);
    },
    async startServer() {
      const keep = ["PATH", "TMPDIR", "BUN_INSTALL"].flatMap((name) => {
        const value = process.env[name];
        return value === undefined ? [] : [[name, value] as const];
      });
      const env = {
        ...Object.fromEntries(keep),
        HOME: join(folder, "home"),
        SHELL: "/bin/sh",
        TERM: "xterm-256color",
        LANG: "C.UTF-8",
      };
      const start = ["start-server", ";", "set-option", "-s", "exit-empty", "off"];
      const command = ["tmux", "-S", socket, "-f", "/dev/null", ...start];
      // A server that was killed a moment ago may still hold the socket.
      await until(
        "tmux starts",
        async () => (await processes.run(command, { env, timeoutMs: 60_000 })).exitCode === 0,
      );
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map((connection) => connection.stop()));
      await fixture.killServer();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await fixture.startServer();
  return fixture;
}
