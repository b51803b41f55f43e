import { readdirSync, readFileSync } from "node:fs";

/** A process that carries the mark of one sandbox in its environment. */
export interface MarkedProcess {
  pid: number;
  command: string;
}

/**
 * All live processes whose environment holds `NAME=value`, oldest pid first. Children inherit the mark, so
 * that a process is found also after its parents have gone. Needs /proc.
 */
export function processesMarked(name: string, value: string): MarkedProcess[] {
  const mark = `${name}=${value}`;
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .sort((left, right) => left - right)
    .filter((pid) => readProc(pid, "environ").split("\0").includes(mark) && !isZombie(pid))
    .map((pid) => ({ pid, command: readProc(pid, "cmdline").replaceAll("\0", " ").trim() }));
}

/**
 * Ends all marked processes by their pids: TERM, after `graceMs` KILL. Resolves when none is left; rejects
 * with their command lines when some outlive the KILL by 5 s.
 */
export async function endMarked(name: string, value: string, graceMs = 2000): Promise<void> {
  const signalAll = (signal: "SIGTERM" | "SIGKILL") => {
    for (const { pid } of processesMarked(name, value)) sendSignal(pid, signal);
  };
  signalAll("SIGTERM");
  if (await isGoneWithin(graceMs)) return;
  signalAll("SIGKILL");
  if (await isGoneWithin(5000)) return;
  const left = processesMarked(name, value).map((process) => `${process.pid} ${process.command}`);
  throw new Error(`processes outlive KILL:\n${left.join("\n")}`);

  async function isGoneWithin(limitMs: number): Promise<boolean> {
    const deadline = performance.now() + limitMs;
    while (performance.now() < deadline) {
      if (processesMarked(name, value).length === 0) return true;
      await Bun.sleep(50);
    }
    return processesMarked(name, value).length === 0;
  }
}

function sendSignal(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It went by itself between the listing and the signal.
  }
}

function isZombie(pid: number): boolean {
  return /^State:\s+Z/m.test(readProc(pid, "status"));
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
