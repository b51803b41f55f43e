import { type Clock, pollUntil } from "../../system/clock.ts";
import type { Processes } from "../../system/processes.ts";
import { isSameProcess, type KnownProcess, knownTree } from "../sessions/process-tree.ts";

/** How long each signal may take to work before the next, stronger one. */
const stages = [
  { signal: "SIGINT", graceMs: 3000 },
  { signal: "SIGTERM", graceMs: 2000 },
  { signal: "SIGKILL", graceMs: 1000 },
] as const;
const pollIntervalMs = 20;

interface ProviderEnd {
  /** The signal after which nothing of it lived, or null when nothing lived before any. */
  after: (typeof stages)[number]["signal"] | null;
  /** Normally none. */
  surviving: number[];
}

/**
 * Ends a provider and everything below it: SIGINT, then SIGTERM, then SIGKILL, each time to all that lives,
 * what has come since included. An id that another process got meanwhile is left alone. `first`: with which
 * signal to begin.
 */
export async function endProvider(
  deps: { processes: Processes; clock: Clock },
  provider: KnownProcess,
  first: "SIGINT" | "SIGKILL" = "SIGINT",
): Promise<ProviderEnd> {
  const { processes, clock } = deps;
  const known = new Map<number, KnownProcess>();
  const living = () => [...known.values()].filter((one) => isSameProcess(processes, one));
  const find = async () => {
    if (!isSameProcess(processes, provider)) return;
    for (const one of await knownTree(processes, provider.pid)) known.set(one.pid, one);
  };
  await find();
  if (living().length === 0) return { after: null, surviving: [] };
  for (const { signal, graceMs } of stages.slice(stages.findIndex((stage) => stage.signal === first))) {
    await find();
    for (const one of living()) processes.signal(one.pid, signal);
    const hasEnded = await pollUntil(clock, { intervalMs: pollIntervalMs, limitMs: graceMs }, () =>
      living().length === 0 ? true : null,
    );
    if (hasEnded) return { after: signal, surviving: [] };
  }
  return { after: "SIGKILL", surviving: living().map((one) => one.pid) };
}
