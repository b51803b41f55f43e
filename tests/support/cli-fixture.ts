import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runProgram } from "../../src/cli/command-line/dispatch.ts";
import { programVersion } from "../../src/cli/command-line/version.ts";
import { managerCommands } from "../../src/cli/mgr.ts";
import { runtimeSettings } from "../../src/services/sessions/environment.ts";
import { createTmux } from "../../src/services/terminal/tmux/command.ts";
import { createTmuxMutex } from "../../src/services/terminal/tmux/mutex.ts";
import { createClock } from "../../src/system/clock.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createProcesses, type Output, type RunOptions } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { endTmux } from "./end-tmux.ts";
import { createFakeIo } from "./fake-io.ts";

const entries = join(import.meta.dir, "../../src/cli");
export type Program = "svc-mgr" | "svc-gateway" | "svc-coord" | "svc";

export interface CliRun extends Output {
  /** The document on stdout, for `--json`. */
  json: () => Record<string, unknown>;
  /** The document on stderr, for a failed `--json`. */
  error: () => Record<string, unknown>;
}

/**
 * Our programs as a person runs them: own processes, an empty home, a clean environment, an own tmux server.
 */
export interface CliFixture extends AsyncDisposable {
  folder: string;
  workdir: string;
  /** The tmux server's socket, as SVC_TMUX_SOCKET. */
  socket: string;
  env: Record<string, string>;
  run(program: Program, args: readonly string[], options?: RunOptions): Promise<CliRun>;
  /** A line of sh, as a person would type it there. */
  shell(line: string): Promise<Output>;
  /** `svc-mgr` with words. */
  mgr(...args: string[]): Promise<CliRun>;
  /** The same in this process: for a command that starts no program, where no process is the promise. */
  runHere(...args: string[]): Promise<CliRun>;
  /** The command line of a program, for what starts it itself. */
  command(program: Program): string[];
  sessions(): Promise<string[]>;
  /**
   * One command of the fixture's tmux server; its output without the last newline. Throws when tmux refuses.
   */
  tmux(...args: string[]): Promise<string>;
  /** A tmux session of 120 x 36 as a person makes one, its first window running `command`. */
  startSession(name: string, command: readonly string[]): Promise<void>;
  alive(pid: number): boolean;
  kill(pid: number): void;
}

/**
 * The folder of the built programs, which `bun run test` names: they start in a third of the time that the
 * source takes. Without it, as for one file under `bun test`, the source runs.
 */
const built = process.env["SVC_TEST_PROGRAMS"];

/** Where the executables are, for tests that never run the source. */
export const builtPrograms = built ?? join(import.meta.dir, "../../dist");

/**
 * `executable`: the compiled svc-gateway alone, with svc-coord and svc beside it. `prefix`: runs every
 * program by this command, as on a host of another network.
 */
export function createCliFixture(
  options: { executable?: string | undefined; prefix?: readonly string[] } = {},
): CliFixture {
  const { executable, prefix = [] } = options;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-cli-")));
  const workdir = join(folder, "work");
  const home = join(folder, "home");
  const socket = join(folder, "tmux");
  for (const path of [workdir, home]) mkdirSync(path);
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    SVC_TMUX_SOCKET: socket,
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    // As a gateway runs: a command then takes 40 ms of a processor in place of 70, and a whole run starts
    // thousands.
    BUN_JSC_thresholdForJITAfterWarmUp: runtimeSettings.BUN_JSC_thresholdForJITAfterWarmUp,
  };
  const processes = createProcesses({ steps: quietSteps });
  const clock = createClock();
  const mutex = createTmuxMutex({ locks: createLocks({ clock }), clock }, socket);
  const tmux = createTmux({ processes, steps: quietSteps, clock, socket, mutex });
  const command = (program: Program) => [...prefix, ...programOf(program)];
  const programOf = (program: Program) => {
    if (executable === undefined) {
      return built ? [join(built, program)] : [process.execPath, join(entries, `${program}.ts`)];
    }
    if (program === "svc-coord" || program === "svc") return [join(dirname(executable), program)];
    return program === "svc-mgr" ? [executable, "mgr"] : [executable];
  };
  const started = new Set<string>();

  const fixture: CliFixture = {
    folder,
    workdir,
    socket,
    env,
    command,
    async run(program, args, options = {}) {
      const output = await processes.run([...command(program), ...args], {
        env,
        cwd: workdir,
        timeoutMs: 100_000,
        ...options,
      });
      const name = args[args.indexOf("--agent-name") + 1];
      if ((args.includes("launch") || args.includes("join")) && name) started.add(name);
      return toRun(output);
    },
    async runHere(...args) {
      const io = createFakeIo({ env, cwd: workdir, home, stdinIsTty: false });
      const exitCode = await runProgram(managerCommands, programVersion, args, io);
      return toRun({ exitCode, stdout: io.out, stderr: io.err });
    },
    shell: (line) => processes.run(["sh", "-c", line], { env, cwd: workdir, timeoutMs: 100_000 }),
    mgr: (...args) => fixture.run("svc-mgr", args),
    tmux: async (...args) => (await tmux.run([args])).join("\n"),
    sessions: async () => (await tmux.sessions()).map((session) => session.name),
    async startSession(name, words) {
      const size = ["-x", "120", "-y", "36"];
      const start = ["new-session", "-d", "-s", name, ...size, "--", ...words];
      const run = await processes.run(["tmux", "-S", socket, "-f", "/dev/null", ...start], {
        env,
        cwd: workdir,
        timeoutMs: 60_000,
      });
      if (run.exitCode !== 0) throw new Error(run.stderr);
    },
    alive: (pid) => processes.alive(pid),
    kill: (pid) => void processes.signal(pid, "SIGKILL"),
    async [Symbol.asyncDispose]() {
      for (const name of started) await fixture.mgr("agents", "single", "--agent-name", name, "stop");
      endTmux(socket);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return fixture;
}

function toRun(output: Output): CliRun {
  const parse = (text: string) => {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      throw new Error(`no document: exit code ${output.exitCode}\n${output.stdout}\n${output.stderr}`);
    }
  };
  return { ...output, json: () => parse(output.stdout), error: () => parse(output.stderr) };
}
