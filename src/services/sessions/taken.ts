import type { RegistryRecord } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { isFresh } from "./record.ts";
import type { Registry } from "./registry.ts";
import { refuseTwin, runsAlready } from "./rival.ts";
import type { SessionAlive } from "./session-alive.ts";

export interface TakenDeps {
  registry: Registry;
  sessionAlive: SessionAlive;
  clock: Clock;
}

/** The agents that run and for which `matches` holds. */
export async function runningAgents(
  deps: TakenDeps,
  matches: (record: RegistryRecord) => boolean,
): Promise<RegistryRecord[]> {
  const candidates = deps.registry
    .list()
    .records.filter(matches)
    .filter((record) => isFresh(record, deps.clock.nowMs()));
  const alive = await Promise.all(candidates.map(deps.sessionAlive));
  return candidates.filter((_, index) => alive[index]);
}

/** Throws `conflict` when an agent of this name or id runs, and as `refuseTwin`. */
export async function refuseTakenName(deps: TakenDeps, agentName: string, agentId: string): Promise<void> {
  const [rival] = await runningAgents(
    deps,
    (record) => record.agent_name === agentName || record.agent_id === agentId,
  );
  if (rival) throw runsAlready(rival);
  refuseTwin(deps.registry.list().records, agentName, agentId);
}
