import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** One process of the operating system. */
export interface ProcessFacts {
  pid: number;
  parentPid: number;
  /** Short name the kernel keeps (`comm`), at most 15 characters on Linux. */
  command: string;
  argv: string[];
  /** Set for a process that a signal suspended, as Ctrl-Z does. */
  isStopped?: true;
}

/** Runs a command to its end and returns its output. */
type RunCommand = (command: readonly string[]) => Promise<{ stdout: string }>;

/**
 * See `Processes.tree`. `run` is for systems that report processes only through `ps`.
 */
export async function readProcessTree(pid: number, run: RunCommand): Promise<ProcessFacts[]> {
  return process.platform === "linux" ? linuxTree(pid) : psTree(pid, run);
}

/** See `Processes.alive`. Never throws. */
export function isAlive(pid: number): boolean {
  if (process.platform !== "linux") return canSignal(pid);
  try {
    const stat = linuxStat(pid);
    return stat !== null && stat.state !== "Z" && stat.state !== "X";
  } catch {
    return canSignal(pid);
  }
}

/**
 * Whether a process has other files or other processes than this one, as in a container or a sandbox; false
 * when unknown. `folder`: the process file system.
 */
export function hasOwnNamespace(pid: number, folder = "/proc"): boolean {
  const namespaceOf = (one: number | "self", name: string) => {
    try {
      return readlinkSync(`${folder}/${one}/ns/${name}`);
    } catch {
      return null;
    }
  };
  return ["mnt", "user", "pid"].some((name) => {
    const [own, other] = [namespaceOf("self", name), namespaceOf(pid, name)];
    return own !== null && other !== null && own !== other;
  });
}

/** See `Processes.startToken`. */
export function readStartToken(pid: number): string | null {
  if (process.platform === "linux") return linuxStat(pid)?.startTicks ?? null;
  return canSignal(pid) ? toStartToken(runPs(["-o", "lstart=", "-p", String(pid)])) : null;
}

/**
 * Converts the start time of `ps -o lstart=` to one word; null for an ended process. Its precision is a
 * second, so an id that is reused within one second is not noticed. Throws for other text. Pure.
 */
export function toStartToken(listed: string): string | null {
  const text = listed.trim();
  if (text === "") return null;
  const words = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}:\d{2}:\d{2}) (\d{4})$/.exec(text);
  if (!words) throw new Error("ps does not print when a process started");
  const [, month, day = "", time, year] = words;
  return `${year}-${month}-${day.padStart(2, "0")}T${time}`;
}

/** Fixes locale and time zone, since a start time is compared with the one that another process recorded. */
function runPs(words: readonly string[]): string {
  const { stdout } = Bun.spawnSync(["/bin/ps", ...words], {
    env: { LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  return stdout.toString();
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

/** `/proc/<pid>/stat`: the name is in parentheses and may contain any character. */
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
    const stopped = stat.state === "T" ? { isStopped: true as const } : null;
    found.push({ pid, parentPid: stat.parentPid, command: stat.command, argv, ...stopped });
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

/**
 * Returns `nothing` for an ended or hidden process. Throws when the process could not be read, as without a
 * free descriptor: it may live.
 */
function absent<T>(error: unknown, nothing: T): T {
  if (
    ["ENOENT", "ESRCH", "ENOTDIR", "EACCES", "EPERM"].includes(String((error as { code?: unknown }).code))
  ) {
    return nothing;
  }
  throw error;
}

async function psTree(root: number, run: RunCommand): Promise<ProcessFacts[]> {
  const { stdout } = await run(["ps", "-axo", "pid=,ppid=,stat=,comm=,args="]);
  const all = stdout.split("\n").flatMap((line): ProcessFacts[] => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, parentPid, state = "", command = "", args = ""] = match;
    const stopped = state.startsWith("T") ? { isStopped: true as const } : null;
    return [{ pid: Number(pid), parentPid: Number(parentPid), command, argv: args.split(/\s+/), ...stopped }];
  });
  const found = all.filter((one) => one.pid === root);
  for (let index = 0; index < found.length; index++) {
    const parent = found[index];
    found.push(...all.filter((one) => one.parentPid === parent?.pid));
  }
  return found;
}
