import type { RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { Clock } from "../../system/clock.ts";
import { md5 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Ids, idStamp } from "../../system/ids.ts";
import { tmuxAttachLine } from "../terminal/tmux/screen.ts";
import { isFresh, type SessionAlive } from "./record.ts";

/** Backend of a session whose agent is an interactive terminal program. */
export const localInteractive = "local_interactive";

/** Backend of a session whose turns are run by one agent process that speaks ACP. */
export const acpBackend = "acp_headless";

/** Backend of a session whose turns are processes of the tool. */
export function headlessBackend({ tool, acp }: { tool: string; acp?: unknown }): string {
  return acp === undefined ? `${tool}_headless` : acpBackend;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
/** `svc` and a separator is our prefix: `SVC-operator`, `SVC-<name>-<ms>`. */
const reservedPattern = /^svc[-_]/i;
const maxNameLength = 64;

/**
 * Why `name` cannot name an agent, as a sentence for the person who chose it, or null when it can.
 * Source: spec/coordination.md "Names".
 */
export function nameProblem(name: string): string | null {
  if (!namePattern.test(name)) {
    return `agent name ${JSON.stringify(name)}: use letters, digits, "-" and "_", beginning with a letter or digit`;
  }
  if (reservedPattern.test(name)) return `agent name "${name}": names that begin with "svc-" are reserved`;
  if (name.length > maxNameLength) return `agent name is longer than ${maxNameLength} characters`;
  return null;
}

/** `name` unchanged; throws `invalid_request` when it breaks the rules of `nameProblem`. */
export function checkedName(name: string): string {
  const problem = nameProblem(name);
  if (problem) throw new ServiceError("invalid_request", problem);
  return name;
}

/** `agentId` unchanged; it is also the name of a folder in the registry, so it has the alphabet of a name. */
export function checkedAgentId(agentId: string): string {
  if (namePattern.test(agentId) && agentId.length <= 128) return agentId;
  throw new ServiceError(
    "invalid_request",
    `agent id ${JSON.stringify(agentId)}: use at most 128 letters, digits, "-" and "_", beginning with a letter or digit`,
  );
}

/** The id of an agent that was given none: the MD5 of its name, so that a name finds the same agent again. */
export function defaultAgentId(agentName: string): string {
  return md5(agentName);
}

/** `<backend>-<YYYYMMDD-HHMMSSZ>-<8 hex>`. */
export function newSessionId(backend: string, nowMs: number, ids: Ids): string {
  return `${backend}-${idStamp(nowMs)}-${ids.hex(4)}`;
}

/** `SVC-<name>-<epoch ms>`: what the person sees in `tmux ls`. */
export function newTmuxSessionName(agentName: string, nowMs: number): string {
  return `SVC-${agentName}-${nowMs}`;
}

type RunningAgent = Pick<RegistryRecord, "agent_name" | "agent_id"> & {
  terminal: Pick<RegistryRecord["terminal"], "current_session_name" | "socket">;
};

/** The error for a launch under the name of an agent that runs. Pure. */
export function runsAlready({ agent_name: name, agent_id: id, terminal }: RunningAgent): ServiceError {
  const { current_session_name: session, socket } = terminal;
  const watch = tmuxAttachLine({ session_name: session ?? "", socket });
  return new ServiceError(
    "conflict",
    `agent "${name}" already runs in tmux session ${session}. Look at it with \`${watch}\``,
    { data: { agent_ids: [id], remedy: { code: "end_agent", agent_name: name } satisfies Remedy } },
  );
}

/**
 * Throws `conflict` when another agent, running or not, has this name or id in other letters: its mailbox and
 * its record lie in folders of these names, and some file systems see one folder there. Not for an agent that
 * is among `records`: earlier versions let both in. Pure.
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
    `${differs} differs from that of agent "${name}" (${id}) only in capital letters. Choose another, or remove that agent once it has ended`,
    { data: { agent_ids: [id], remedy: { code: "cleanup_agent", agent_id: id } satisfies Remedy } },
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
