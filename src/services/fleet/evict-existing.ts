import type { RegistryRecord } from "../../protocol/files.ts";
import { ServiceError } from "../../system/errors.ts";
import { openRecordOrNull } from "../sessions/find.ts";
import { runsAlready } from "../sessions/name-conflict.ts";
import type { SessionAlive } from "../sessions/session-alive.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { sessionExists } from "../terminal/tmux-launch.ts";
import { type ForgetDeps, forgetAgent, planForgetting } from "./forget-agent.ts";
import { type StopAgentDeps, stopAgent } from "./stop-agent.ts";

/** Who is to come in an agent's place. */
export interface Replacement {
  agentName: string;
  agentId: string;
  /** Null for a name that nobody has. */
  tmuxSessionName: string | null;
}

/**
 * Ends whatever runs under this name, for a launch that is to take its place; with `clean` what it left is removed too.
 * Throws `conflict` when something of it lives on, and, with nothing ended, when another agent or a session that is none
 * of this agent's stands in the way of its replacement.
 */
export async function evictExisting(
  deps: StopAgentDeps & ForgetDeps & { tmux: Tmux },
  replacement: Replacement,
  { clean }: { clean: boolean },
): Promise<void> {
  const { agentName } = replacement;
  const { records } = deps.registry.list();
  const former = records.filter((record) => record.agent_name === agentName);
  await refuseOthers(deps, replacement, former);
  for (const record of former) {
    const found = openRecordOrNull(deps.files, record);
    const stop = found && (await stopAgent(deps, found));
    if (stop && (stop.survivingPids.length > 0 || stop.gateway.outcome === "unproven")) {
      throw new ServiceError("conflict", `"${agentName}" could not be ended; nothing was launched`);
    }
    if (clean)
      await forgetAgent(deps, await planForgetting(deps, deps.registry.read(record.agent_id) ?? record));
  }
}

async function refuseOthers(
  { registry, tmux, sessionAlive }: ForgetDeps & { tmux: Tmux },
  { agentName, agentId, tmuxSessionName: session }: Replacement,
  former: readonly RegistryRecord[],
): Promise<void> {
  const other = registry.read(agentId);
  if (other && other.agent_name !== agentName && (await sessionAlive(other))) throw runsAlready(other);
  if (session === null || former.some(({ terminal }) => terminal.current_session_name === session)) return;
  if (await tmux.hasSession(session)) throw sessionExists(tmux, session);
}

/**
 * Ends what an agent of this name left whose tmux session has gone: a gateway that is a separate process lives on when the
 * tmux server dies, and once the name is taken again no command finds it. A record that cannot be opened is left
 * to the clean-up.
 */
export async function evictDead(
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
