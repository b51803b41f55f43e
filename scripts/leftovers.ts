import { readdirSync, readFileSync } from "node:fs";

export interface Leftover {
  pid: number;
  command: string;
}

/**
 * Ends every process that carries the mark, as a variable of its environment or, where it was started with a
 * clean one, as a part of its arguments (its files lie in the run's folder), and returns those that were
 * still alive after a short grace, in which what was told to stop may do so. Knows only Linux; elsewhere it
 * finds nothing.
 */
export async function endLeftovers(
  mark: { name: string; value: string },
  graceMs = 10_000,
): Promise<Leftover[]> {
  const deadline = performance.now() + graceMs;
  let left = findMarked(mark);
  while (left.length > 0 && performance.now() < deadline) {
    await Bun.sleep(50);
    left = findMarked(mark);
  }
  for (const { pid } of left) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself in this moment.
    }
  }
  return left;
}

function findMarked({ name, value }: { name: string; value: string }): Leftover[] {
  const pids = listProc().filter((pid) => pid !== process.pid);
  return pids.flatMap((pid) => {
    const environment = readProc(pid, "environ").split("\0");
    const command = readProc(pid, "cmdline").split("\0").join(" ").trim();
    return environment.includes(`${name}=${value}`) || command.includes(value) ? [{ pid, command }] : [];
  });
}

function listProc(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Empty for a process that has gone or belongs to somebody else. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
