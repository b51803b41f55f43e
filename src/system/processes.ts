import { closeSync, openSync } from "node:fs";
import { isAlive, type ProcessFacts, readProcessTree, readStartToken } from "./process-table.ts";
import type { Steps } from "./steps.ts";

export type { ProcessFacts } from "./process-table.ts";

export interface Output {
  /** Null when the process was ended by a signal. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A child whose standard input and output are pipes to this process. */
export interface PipedProcess {
  pid: number;
  /** Queues bytes for its standard input; ignored for an ended child. */
  write(text: string): void;
  closeInput(): void;
  stdout: AsyncIterable<Uint8Array>;
  exited: Promise<number | null>;
  kill(): void;
}

/** A child in a new session, which keys and the end of a terminal do not reach. */
export interface StreamedProcess {
  pid: number;
  /**
   * Writes the rest of its standard input, or nothing, and closes it. Call once; ignored for an ended child.
   */
  give(input: string | null): void;
  /** Queues bytes for its standard input, which stays open until `give`; ignored for an ended child. */
  write(text: string): void;
  stdout: AsyncIterable<Uint8Array>;
  stderr: AsyncIterable<Uint8Array>;
  /** Exactly one of the two is set. */
  exited: Promise<{ exitCode: number | null; signal: string | null }>;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
  cwd?: string;
  /**
   * Default 10 s. After it the child and its descendants are killed, and `exitCode` is null. When the child
   * ended earlier, descendants that hold its output are also awaited for this long.
   */
  timeoutMs?: number;
}

/**
 * The only access to processes. Without `env` a child gets the environment of this process except the tokens
 * and `runtimeOptions`. Signals go only to explicit ids of processes that we started or that a user named.
 */
export interface Processes {
  selfPid(): number;
  /** Path of an executable on PATH, or null. */
  which(command: string): string | null;
  /** Runs a command and collects its output. Rejects only when the executable cannot be started. */
  run(command: readonly string[], options?: RunOptions): Promise<Output>;
  pipe(command: readonly string[], options?: { env?: Record<string, string>; cwd?: string }): PipedProcess;
  /**
   * Runs a child in this process's terminal; resolves with its exit code, null when a signal ended it.
   * Interrupt keys reach only the child. `unset`: variables that the child does not get.
   */
  foreground(command: readonly string[], options?: { unset?: readonly string[] }): Promise<number | null>;
  /** Throws when the executable cannot be started. */
  stream(
    label: string,
    command: readonly string[],
    options: { env: Record<string, string>; cwd: string },
  ): StreamedProcess;
  /**
   * Starts a child in a new session that outlives this process; its output is appended to `logPath`. Returns
   * its pid and `exited`, which resolves if the child ends first.
   */
  detach(
    label: string,
    command: readonly string[],
    options: { env: Record<string, string>; cwd: string; logPath: string },
  ): { pid: number; exited: Promise<number | null> };
  /**
   * The process `pid`, then its descendants in no particular order; empty when `pid` does not exist. Rejects
   * when the processes cannot be read.
   */
  tree(pid: number): Promise<ProcessFacts[]>;
  /** Whether a process with this id exists and is not a zombie. */
  alive(pid: number): boolean;
  /**
   * A token that changes when another process reuses the id; null without a process. Throws when it cannot be
   * read.
   */
  startToken(pid: number): string | null;
  /** Sends a signal. Returns false without such a process. */
  signal(pid: number, signal: "SIGINT" | "SIGTERM" | "SIGKILL" | "SIGHUP"): boolean;
}

/**
 * Variables that change the code of our executables: Bun reads them in compiled programs too, before our code
 * runs. Children do not inherit them.
 */
export const runtimeOptions = ["BUN_OPTIONS", "BUN_BE_BUN"] as const;

/**
 * The environment of this process without the server tokens and `runtimeOptions`: a tmux server that a
 * command starts would pass them to every pane.
 */
function childEnvironment(): Record<string, string | undefined> {
  const { SVC_GATEWAY_TOKEN: _gateway, SVC_COORD_TOKEN: _coordinator, ...rest } = process.env;
  for (const name of runtimeOptions) delete rest[name];
  return rest;
}

/** Kills a process and its descendants, which would otherwise stay behind. */
async function killTree(pid: number): Promise<void> {
  const listed = (command: readonly string[]) => {
    const { stdout } = Bun.spawnSync([...command], { stdio: ["ignore", "pipe", "ignore"], timeout: 1000 });
    return Promise.resolve({ stdout: stdout.toString() });
  };
  const tree = await readProcessTree(pid, listed).catch(() => []);
  for (const one of [pid, ...tree.map((found) => found.pid)]) sendSignal(one, "SIGKILL");
}

function sendSignal(pid: number, signal: Parameters<Processes["signal"]>[1]): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

export function createProcesses(deps: { steps: Steps }): Processes {
  const run = async (command: readonly string[], options: RunOptions = {}): Promise<Output> => {
    const { timeoutMs = 10_000 } = options;
    const startedMs = performance.now();
    const child = Bun.spawn([...command], {
      stdin: options.input === undefined ? "ignore" : Buffer.from(options.input),
      stdout: "pipe",
      stderr: "pipe",
      // For a child whose tree cannot be read in time.
      timeout: timeoutMs + lastWordsMs,
      killSignal: "SIGKILL",
      env: options.env ?? childEnvironment(),
      ...(options.cwd ? { cwd: options.cwd } : {}),
    });
    const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
    const whole = Promise.all([stdout.whole, stderr.whole]);
    const timer = setTimeout(() => void killTree(child.pid), timeoutMs);
    await child.exited;
    clearTimeout(timer);
    // Descendants may keep the pipes of an ended child open: a tmux client passes its pipes to the server, a
    // tool to its updater.
    const leftMs = child.exitCode === null ? 0 : startedMs + timeoutMs - performance.now();
    await endOrLater(whole, Math.max(lastWordsMs, leftMs));
    return { exitCode: child.exitCode, stdout: stdout.take(), stderr: stderr.take() };
  };

  return {
    selfPid: () => process.pid,
    which: (command) => Bun.which(command),
    run,
    pipe(command, options = {}) {
      const child = Bun.spawn([...command], {
        stdin: "pipe" as const,
        stdout: "pipe" as const,
        stderr: "ignore" as const,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: options.env ?? childEnvironment(),
      });
      let open = true;
      const gone = () => {
        open = false;
      };
      const exited = child.exited.then(() => {
        gone();
        return child.exitCode;
      });
      return {
        pid: child.pid,
        write(text) {
          if (!open) return;
          try {
            for (const done of [child.stdin.write(text), child.stdin.flush()]) {
              if ((done as unknown) instanceof Promise) Promise.resolve(done).catch(gone);
            }
          } catch {
            // The child has ended; its exit arrives in a moment.
            gone();
          }
        },
        closeInput: () => {
          open = false;
          child.stdin.end();
        },
        stdout: child.stdout,
        exited,
        kill: () => child.kill("SIGKILL"),
      };
    },
    async foreground(command, { unset = [] } = {}) {
      const env = Object.fromEntries(
        Object.entries(childEnvironment()).filter(([name]) => !unset.includes(name)),
      );
      const ignore = () => {};
      for (const signal of ["SIGINT", "SIGQUIT"] as const) process.on(signal, ignore);
      try {
        const child = Bun.spawn([...command], {
          stdin: "inherit" as const,
          stdout: "inherit" as const,
          stderr: "inherit" as const,
          env,
        });
        await child.exited;
        return child.exitCode;
      } finally {
        for (const signal of ["SIGINT", "SIGQUIT"] as const) process.off(signal, ignore);
      }
    },
    stream(label, command, { env, cwd }) {
      deps.steps.before(label);
      const child = Bun.spawn([...command], {
        env,
        cwd,
        detached: true,
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      } as const);
      deps.steps.after(label);
      const attempt = (act: () => unknown) => {
        try {
          const outcome = act();
          if (outcome instanceof Promise) outcome.catch(() => {});
        } catch {
          // The child closed its input or has ended.
        }
      };
      return {
        pid: child.pid,
        give(input) {
          if (input !== null) attempt(() => child.stdin.write(input));
          attempt(() => child.stdin.end());
        },
        write(text) {
          attempt(() => child.stdin.write(text));
          attempt(() => child.stdin.flush());
        },
        stdout: child.stdout,
        stderr: child.stderr,
        exited: child.exited.then(() => ({
          exitCode: child.exitCode,
          signal: child.signalCode === null ? null : String(child.signalCode),
        })),
      };
    },
    detach(label, command, { env, cwd, logPath }) {
      deps.steps.before(label);
      const log = openSync(logPath, "a", 0o600);
      const child = Bun.spawn([...command], {
        env,
        cwd,
        stdin: "ignore",
        stdout: log,
        stderr: log,
        detached: true,
      });
      closeSync(log);
      child.unref();
      deps.steps.after(label);
      return { pid: child.pid, exited: child.exited.then(() => child.exitCode) };
    },
    tree: (pid) => readProcessTree(pid, run),
    alive: isAlive,
    startToken: readStartToken,
    signal: sendSignal,
  };
}

const lastWordsMs = 100;

/** Resolves when `end` does or after `delayMs`; rejects when `end` does. */
async function endOrLater(end: Promise<unknown>, delayMs: number): Promise<void> {
  const later = Promise.withResolvers<void>();
  const timer = setTimeout(later.resolve, delayMs);
  try {
    await Promise.race([end, later.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Collects the text of a stream. `whole` resolves at its end; `take` returns the text so far and stops
 * reading.
 */
function gather(stream: ReadableStream<Uint8Array>): { whole: Promise<void>; take(): string } {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const whole = (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
    }
  })();
  return {
    whole,
    take() {
      reader.cancel().catch(() => {});
      return text + decoder.decode();
    },
  };
}
