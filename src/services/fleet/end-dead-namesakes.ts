import { ServiceError } from "../../system/errors.ts";
import { openRecord } from "../sessions/find.ts";
import type { SessionAlive } from "../sessions/session-alive.ts";
import { type ForgetDeps, forgetAgent, planForgetting } from "./forget-agent.ts";
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
    const found = openOrNull(deps, record);
    if (found) await stopAgent(deps, found);
  }
}

/**
 * Ends whatever runs under this name, for a launch that is to take its place; with `clean` what it left is removed too.
 * Throws `conflict` when something of it lives on.
 */
export async function makeWay(
  deps: StopAgentDeps & ForgetDeps,
  agentName: string,
  { clean }: { clean: boolean },
): Promise<void> {
  for (const record of deps.registry.list().records) {
    if (record.agent_name !== agentName) continue;
    const found = openOrNull(deps, record);
    const stop = found && (await stopAgent(deps, found));
    if (stop && (stop.survivingPids.length > 0 || stop.gateway.outcome === "unproven")) {
      throw new ServiceError("conflict", `"${agentName}" could not be ended; nothing was launched`);
    }
    if (clean)
      await forgetAgent(deps, await planForgetting(deps, deps.registry.read(record.agent_id) ?? record));
  }
}

function openOrNull(deps: StopAgentDeps, record: Parameters<typeof openRecord>[1]) {
  try {
    return openRecord(deps.files, record);
  } catch {
    return null;
  }
}
