import type { RegistryRecord } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { tmuxAttachLine } from "../terminal/tmux-lines.ts";
import { isFresh } from "./record.ts";
import type { SessionAlive } from "./session-alive.ts";

/** The error for a launch under the name of an agent that runs. Pure. */
export function runsAlready({ agent_name: name, agent_id: id, terminal }: RegistryRecord): ServiceError {
  const { current_session_name: session, socket } = terminal;
  const watch = tmuxAttachLine({ session_name: session ?? "", socket });
  return new ServiceError(
    "conflict",
    `agent "${name}" already runs in tmux session ${session}. Look at it with \`${watch}\` or end it with \`svc-mgr agents single --agent-name ${name} stop\``,
    { data: { agent_ids: [id] } },
  );
}

/**
 * Throws `conflict` when another agent, running or not, has this name or id in other letters: its mailbox and its record
 * lie in folders of these names, and some file systems see one folder there. Not for an agent that is among `records`:
 * earlier versions let both in. Pure.
 */
export function refuseSimilarName(
  records: readonly RegistryRecord[],
  agentName: string,
  agentId: string,
): void {
  if (records.some((record) => record.agent_id === agentId && record.agent_name === agentName)) return;
  const others = records.filter((record) => record.agent_id !== agentId);
  const byName = others.find(
    ({ agent_name: name }) => name !== agentName && equalIgnoringCase(name, agentName),
  );
  const byId = others.find((record) => equalIgnoringCase(record.agent_id, agentId));
  const similar = byName ?? byId;
  if (!similar) return;
  const { agent_name: name, agent_id: id } = similar;
  const differs = byName ? `the name "${agentName}"` : `the id ${agentId}`;
  throw new ServiceError(
    "conflict",
    `${differs} differs from that of agent "${name}" (${id}) only in capital letters. Choose another, or remove that agent with \`svc-mgr agents single --agent-id ${id} cleanup\` once it has ended`,
    { data: { agent_ids: [id] } },
  );
}

function equalIgnoringCase(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

interface NameConflictDeps {
  registry: { list(): { records: RegistryRecord[] } };
  sessionAlive: SessionAlive;
  clock: Clock;
}

/** The agents that run and for which `matches` holds. */
export async function runningAgents(
  deps: NameConflictDeps,
  matches: (record: RegistryRecord) => boolean,
): Promise<RegistryRecord[]> {
  const candidates = deps.registry
    .list()
    .records.filter(matches)
    .filter((record) => isFresh(record, deps.clock.nowMs()));
  const alive = await Promise.all(candidates.map(deps.sessionAlive));
  return candidates.filter((_, index) => alive[index]);
}

/** Throws `conflict` when an agent of this name or id runs, and as `refuseSimilarName`. */
export async function refuseNameConflict(
  deps: NameConflictDeps,
  agentName: string,
  agentId: string,
): Promise<void> {
  const [conflicting] = await runningAgents(
    deps,
    (record) => record.agent_name === agentName || record.agent_id === agentId,
  );
  if (conflicting) throw runsAlready(conflicting);
  refuseSimilarName(deps.registry.list().records, agentName, agentId);
}
