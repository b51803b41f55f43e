import type { AgentIdentity } from "../../protocol/agents.ts";
import { ServiceError } from "../../system/errors.ts";

/** What an agent can be called by. */
export type Named = Pick<
  AgentIdentity,
  | "tracked_agent_id"
  | "transport"
  | "terminal_id"
  | "session_name"
  | "runtime_session_id"
  | "agent_name"
  | "agent_id"
  | "lifecycle_state"
>;

const ourPrefix = /^svc-/i;

/** Every alias of an agent; a name is one with and without the `SVC-` before it. Pure. Source: contract 2.9. */
export function aliasesOf(agent: Named): string[] {
  const all = [
    agent.tracked_agent_id,
    agent.transport === "tui" ? agent.terminal_id : null,
    agent.transport === "tui" ? agent.session_name : null,
    agent.runtime_session_id,
    ...namesOf(agent),
    agent.agent_id,
  ];
  return [...new Set(all.filter((one) => one !== null && one !== ""))] as string[];
}

function namesOf({ agent_name: name }: Named): string[] {
  if (name === null) return [];
  const bare = name.replace(ourPrefix, "");
  return [name, bare, `SVC-${bare}`];
}

/**
 * The one agent that `ref` means among those that have it as an alias. Agents of one name: the only one that runs, else
 * the only one. An alias that is the id of one agent and the name of another names neither, whatever runs: a caller that
 * wrote it may mean either. Throws `not_found`, and `ambiguous` with the ids in `data.agent_ids`. Pure. Source:
 * contract 2.9.
 */
export function chooseAgent<A extends { identity: Named }>(candidates: readonly A[], ref: string): A {
  const named = candidates.filter(({ identity }) => namesOf(identity).includes(ref));
  const tracked = candidates.filter(({ identity }) => identity.tracked_agent_id === ref);
  const byId = candidates.filter(({ identity }) => isIdOf(identity, ref));
  const crossed = byId.some((one) => named.some((other) => other !== one));
  const running = candidates.filter(
    ({ identity: { lifecycle_state: state } }) => state === "active" || state === "relaunching",
  );
  const preferred = tracked.length > 0 ? tracked : running.length > 0 ? running : candidates;
  const left = crossed ? candidates : preferred;
  const [only] = left;
  if (only && left.length === 1) return only;
  if (!only) throw new ServiceError("not_found", `no agent is known as "${ref.slice(0, 200)}"`);
  const ids = left.map(({ identity }) => identity.agent_id ?? identity.tracked_agent_id).sort();
  throw new ServiceError(
    "ambiguous",
    `${left.length} agents are known as "${ref}": ${left.map(({ identity }) => introduce(identity)).join("; ")}`,
    { data: { agent_ids: ids } },
  );
}

/** Whether `ref` is an alias of this agent that is no name. */
function isIdOf(agent: Named, ref: string): boolean {
  return aliasesOf({ ...agent, agent_name: null }).includes(ref);
}

/** An agent by its id and by the alias that no other agent can have: its session's. */
function introduce({
  agent_id: id,
  agent_name: name,
  runtime_session_id: session,
  tracked_agent_id,
}: Named): string {
  return `"${name ?? id}" with the id ${id ?? tracked_agent_id}, reached as ${session ?? tracked_agent_id}`;
}
