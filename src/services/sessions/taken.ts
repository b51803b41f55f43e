import type { RegistryRecord } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { isFresh } from "./record.ts";
import type { Registry } from "./registry.ts";
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

/** Throws `conflict` when an agent of this name or id runs. */
export async function refuseTakenName(deps: TakenDeps, agentName: string, agentId: string): Promise<void> {
  const [rival] = await runningAgents(
    deps,
    (record) => record.agent_name === agentName || record.agent_id === agentId,
  );
  if (!rival) return;
  const session = rival.terminal.current_session_name;
  throw new ServiceError(
    "conflict",
    `agent "${rival.agent_name}" already runs in tmux session ${session}. Look at it with \`tmux attach -t =${session}\` or end it with \`svc-mgr agents single --agent-name ${rival.agent_name} stop\``,
    { data: { agent_ids: [rival.agent_id] } },
  );
}
