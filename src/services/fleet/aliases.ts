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
  const bare = agent.agent_name?.replace(ourPrefix, "") ?? null;
  const all = [
    agent.tracked_agent_id,
    agent.transport === "tui" ? agent.terminal_id : null,
    agent.transport === "tui" ? agent.session_name : null,
    agent.runtime_session_id,
    agent.agent_name,
    bare,
    bare === null ? null : `SVC-${bare}`,
    agent.agent_id,
  ];
  return [...new Set(all.filter((one) => one !== null && one !== ""))] as string[];
}

/**
 * The one agent that `ref` means among those that have it as an alias: the agent tracked under it, else the only one
 * that runs, else the only one. Throws `not_found`, and `ambiguous` with the ids in `data.agent_ids`. Pure.
 */
export function chooseAgent<A extends { identity: Named }>(candidates: readonly A[], ref: string): A {
  const tracked = candidates.filter(({ identity }) => identity.tracked_agent_id === ref);
  const running = candidates.filter(
    ({ identity: { lifecycle_state: state } }) => state === "active" || state === "relaunching",
  );
  const left = tracked.length > 0 ? tracked : running.length > 0 ? running : candidates;
  const [only] = left;
  if (only && left.length === 1) return only;
  if (!only) throw new ServiceError("not_found", `no agent is known as "${ref.slice(0, 200)}"`);
  throw new ServiceError("ambiguous", `${left.length} agents are known as "${ref}": name one by its id`, {
    data: { agent_ids: left.map(({ identity }) => identity.agent_id ?? identity.tracked_agent_id).sort() },
  });
}
