import { join } from "node:path";
import type { WorkerLine } from "./worker.ts";

export interface SeedRange {
  from: number;
  seeds: number;
  hours: number;
  agents: number;
  /** Processes at once. */
  jobs: number;
}

export interface Workers {
  /** Told of each seed as it ends, in no particular order. Resolves with whether every worker ended well. */
  run(onLine: (line: WorkerLine) => void): Promise<boolean>;
  /** Lets each finish a few seeds more. */
  stop(): void;
}

/** Spreads seeds over processes of their own. `preload`: modules that these load first. `until`: each
 * ends at the first thing that is wrong and fits. */
export function createWorkers(
  range: SeedRange,
  options: { preload?: readonly string[]; env?: Record<string, string>; until?: RegExp } = {},
): Workers {
  const { from, seeds, hours, agents, jobs } = range;
  const entry = join(import.meta.dir, "worker.ts");
  const children: Bun.Subprocess<"ignore", "pipe", "inherit">[] = [];

  async function follow(job: number, onLine: (line: WorkerLine) => void): Promise<boolean> {
    const count = Math.ceil((seeds - job) / jobs);
    if (count <= 0) return true;
    const args = [
      ...[from + job, count, jobs, hours, agents].map(String),
      ...(options.until ? [options.until.source] : []),
    ];
    const preload = (options.preload ?? []).flatMap((path) => ["--preload", path]);
    const child = Bun.spawn([process.execPath, ...preload, entry, ...args], {
      env: { ...process.env, ...options.env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    children.push(child);
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of child.stdout) {
      text += decoder.decode(bytes, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) onLine(JSON.parse(line) as WorkerLine);
    }
    return (await child.exited) === 0;
  }

  return {
    async run(onLine) {
      const ended = await Promise.all(Array.from({ length: jobs }, (_, job) => follow(job, onLine)));
      return ended.every((well) => well);
    },
    stop() {
      for (const child of children) child.kill("SIGINT");
    },
  };
}
