import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import type { Steps } from "./steps.ts";

/** One process as the operating system shows it. */
export interface ProcessFacts {
  pid: number;
  parentPid: number;
  /** Short name the kernel keeps (`comm`), at most 15 characters on Linux. */
  command: string;
  argv: string[];
}

export interface Output {
  /** Null when the process was ended by a signal. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A child whose standard streams are pipes to us. */
export interface PipedProcess {
  pid: number;
  /** Queues bytes for its standard input. Writing to a child that has gone is ignored. */
  write(text: string): void;
  closeInput(): void;
  stdout: AsyncIterable<Uint8Array>;
  exited: Promise<number | null>;
  kill(): void;
}

/** A child in a session of its own, which neither a terminal's keys nor its end reach. */
export interface StreamedProcess {
  pid: number;
  /** Hands over all of its standard input, or nothing, and closes it. Call once. A child that has gone takes none. */
  give(input: string | null): void;
  stdout: AsyncIterable<Uint8Array>;
  stderr: AsyncIterable<Uint8Array>;
  /** How it ended: exactly one of the two. */
  exited: Promise<{ exitCode: number | null; signal: string | null }>;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
  cwd?: string;
  /**
   * Default 10 s; afterwards the child is killed and `exitCode` is null. One that ended before and left somebody who
   * could say more is waited for as long.
   */
  timeoutMs?: number;
}

/** The only door to processes. Without `env` a child gets ours, but for the tokens. All signals go to explicit process ids that we started or were told to end. */
export interface Processes {
  selfPid(): number;
  /** Path of an executable on PATH, or null. */
  which(command: string): string | null;
  /** Runs to the end and collects the output. Rejects only when the executable cannot be started. */
  run(command: readonly string[], options?: RunOptions): Promise<Output>;
  pipe(command: readonly string[], options?: { env?: Record<string, string>; cwd?: string }): PipedProcess;
  /** Throws when the executable cannot be started. */
  stream(
    label: string,
    command: readonly string[],
    options: { env: Record<string, string>; cwd: string },
  ): StreamedProcess;
  /**
   * Starts a child in a session of its own that outlives us, streams appended to `logPath`. Returns its pid and
   * `exited`, which resolves if it ends while we still live.
   */
  detach(
    label: string,
    command: readonly string[],
    options: { env: Record<string, string>; cwd: string; logPath: string },
  ): { pid: number; exited: Promise<number | null> };
  /**
   * `pid` first, then its descendants in no particular order; empty when `pid` does not exist. Rejects when that
   * cannot be known.
   */
  tree(pid: number): Promise<ProcessFacts[]>;
  /** True while a process with this id exists and is not a zombie. */
  alive(pid: number): boolean;
  /** Changes when the id is reused by another process; null when there is none. Throws when it cannot be known. */
  startToken(pid: number): string | null;
  /** False when there was no such process. */
  signal(pid: number, signal: "SIGINT" | "SIGTERM" | "SIGKILL" | "SIGHUP"): boolean;
}

/**
 * Our environment without what callers of our servers must show: a tmux server that a command of ours starts would hand
 * it to every pane.
 */
function inherited(): Record<string, string | undefined> {
  const { SVC_GATEWAY_TOKEN: _gateway, SVC_COORD_TOKEN: _coordinator, ...rest } = process.env;
  return rest;
}

export function createProcesses(deps: { steps: Steps }): Processes {
  const run = async (command: readonly string[], options: RunOptions = {}): Promise<Output> => {
    const { timeoutMs = 10_000 } = options;
    const startedMs = performance.now();
    const child = Bun.spawn([...command], {
      stdin: options.input === undefined ? "ignore" : Buffer.from(options.input),
      stdout: "pipe",
      stderr: "pipe",
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      env: options.env ?? inherited(),
      ...(options.cwd ? { cwd: options.cwd } : {}),
    });
    const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
    const whole = Promise.all([stdout.whole, stderr.whole]);
    await child.exited;
    // What a child had handed on keeps its pipes open: a tmux client gives its own to the server, a tool to its updater.
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
        ...{ stdin: "pipe" as const, stdout: "pipe" as const, stderr: "ignore" as const },
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: options.env ?? inherited(),
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
            // The child has gone, and its exit is told in a moment.
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
    stream(label, command, { env, cwd }) {
      deps.steps.before(label);
      const child = Bun.spawn([...command], {
        ...{ env, cwd, detached: true },
        ...{ stdin: "pipe", stdout: "pipe", stderr: "pipe" },
      } as const);
      deps.steps.after(label);
      const attempt = (act: () => unknown) => {
        try {
          const outcome = act();
          if (outcome instanceof Promise) outcome.catch(() => {});
        } catch {
          // The child closed its input, or has gone.
        }
      };
      return {
        pid: child.pid,
        give(input) {
          if (input !== null) attempt(() => child.stdin.write(input));
          attempt(() => child.stdin.end());
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
    tree: async (pid) => (process.platform === "linux" ? linuxTree(pid) : psTree(pid, run)),
    alive(pid) {
      if (process.platform !== "linux") return canSignal(pid);
      try {
        const stat = linuxStat(pid);
        return stat !== null && stat.state !== "Z" && stat.state !== "X";
      } catch {
        return canSignal(pid);
      }
    },
    startToken(pid) {
      if (process.platform === "linux") return linuxStat(pid)?.startTicks ?? null;
      return canSignal(pid) ? String(pid) : null;
    },
    signal(pid, signal) {
      try {
        process.kill(pid, signal);
        return true;
      } catch {
        return false;
      }
    },
  };
}

const lastWordsMs = 100;

/** Resolves when `end` does, or after `delayMs`; rejects as `end` does before. */
async function endOrLater(end: Promise<unknown>, delayMs: number): Promise<void> {
  const later = Promise.withResolvers<void>();
  const timer = setTimeout(later.resolve, delayMs);
  try {
    await Promise.race([end, later.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The text of a stream: `whole` resolves at its end; `take` gives what there is and reads no further. */
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

function canSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

interface LinuxStat {
  command: string;
  state: string;
  parentPid: number;
  startTicks: string;
}

/** `/proc/<pid>/stat`: the name stands in parentheses and may itself contain any character. */
function linuxStat(pid: number): LinuxStat | null {
  const text = readProc(`/proc/${pid}/stat`);
  const open = text?.indexOf("(") ?? -1;
  const close = text?.lastIndexOf(")") ?? -1;
  if (text === null || open < 0 || close < 0) return null;
  const rest = text.slice(close + 2).split(" ");
  return {
    command: text.slice(open + 1, close),
    state: rest[0] ?? "",
    parentPid: Number(rest[1]),
    startTicks: rest[19] ?? "",
  };
}

function linuxTree(root: number): ProcessFacts[] {
  const found: ProcessFacts[] = [];
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const stat = linuxStat(pid);
    if (!stat || stat.state === "Z") continue;
    const argv = (readProc(`/proc/${pid}/cmdline`) ?? "").split("\0");
    argv.pop();
    found.push({ pid, parentPid: stat.parentPid, command: stat.command, argv });
    // Children are listed per thread of the parent; only a thread that forks has any.
    for (const thread of listProc(`/proc/${pid}/task`)) {
      const children = readProc(`/proc/${pid}/task/${thread}/children`) ?? "";
      for (const child of children.split(" ")) if (child) pending.push(Number(child));
    }
  }
  return found;
}

function readProc(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return absent(error, null);
  }
}

function listProc(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    return absent(error, []);
  }
}

/** A process that has gone or is hidden is none; one that could not be looked at (no descriptor left) may live. */
function absent<T>(error: unknown, nothing: T): T {
  if (
    ["ENOENT", "ESRCH", "ENOTDIR", "EACCES", "EPERM"].includes(String((error as { code?: unknown }).code))
  ) {
    return nothing;
  }
  throw error;
}

async function psTree(
  root: number,
  run: (command: readonly string[]) => Promise<Output>,
): Promise<ProcessFacts[]> {
  const { stdout } = await run(["ps", "-axo", "pid=,ppid=,comm=,args="]);
  const all = stdout.split("\n").flatMap((line): ProcessFacts[] => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, parentPid, command = "", args = ""] = match;
    return [{ pid: Number(pid), parentPid: Number(parentPid), command, argv: args.split(/\s+/) }];
  });
  const found = all.filter((one) => one.pid === root);
  for (let index = 0; index < found.length; index++) {
    const parent = found[index];
    found.push(...all.filter((one) => one.parentPid === parent?.pid));
  }
  return found;
}
