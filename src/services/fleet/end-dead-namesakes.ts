import { openRecordOrNull } from "../sessions/find.ts";
import type { SessionAlive } from "../sessions/session-alive.ts";
import { type StopAgentDeps, stopAgent } from "./stop-agent.ts";

/**
 * Ends what an agent of this name left whose tmux session has gone: a gateway of its own process lives on when the
 * tmux server dies, and once the name is taken again no command finds it. A record that cannot be opened is left
 * to the clean-up.
 */
export async function endDeadNamesakes(
  deps: StopAgentDeps & { sessionAlive: SessionAlive },
  agentName: string,
): Promise<void> {
  const { records } = deps.registry.list();
  for (const record of records) {
    const active = record.lifecycle.state === "active" || record.lifecycle.state === "relaunching";
    if (record.agent_name !== agentName || !active || (await deps.sessionAlive(record))) continue;
    const found = openRecordOrNull(deps.files, record);
    if (found) await stopAgent(deps, found);
  }
}
