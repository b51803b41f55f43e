import { dirname } from "node:path";
import type { RegistryRecord, TeamOwner } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type ContainedPath, PathRefused } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { isTurnAlive } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { openRecordOrNull } from "../sessions/find.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { runsAlready } from "../sessions/names.ts";
import { recordedProgram } from "../sessions/process-tree.ts";
import type { SessionAlive } from "../sessions/record.ts";
import type { Registry } from "../sessions/registry.ts";
import { removableSession } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { sessionExists } from "../terminal/tmux/launch.ts";
import { claimOf } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { type StopAgentDeps, stopAgent } from "./stop-agent.ts";

interface ForgetDeps {
  files: Files;
  processes: Processes;
  tools: readonly LaunchTool[];
  registry: Registry;
  sessionAlive: SessionAlive;
  runtimeRoot: string;
}

/** What an agent that has ended left on this machine. */
interface LeftBehind {
  record: RegistryRecord;
  /**
   * Null when it is gone already, or does not lie where sessions of ours are: then it is nobody's to remove.
   */
  sessionRoot: ContainedPath | null;
}

/**
 * What `forgetAgent` would remove. Throws `conflict` while the agent, a process that says it is its gateway,
 * or a turn, which outlives its terminal, lives. Its manifest need not be readable.
 */
export async function planForgetting(deps: ForgetDeps, record: RegistryRecord): Promise<LeftBehind> {
  const name = record.agent_name;
  const end = { data: { remedy: { code: "end_agent", agent_id: record.agent_id } satisfies Remedy } };
  const { state } = record.lifecycle;
  if ((state === "active" || state === "relaunching") && (await deps.sessionAlive(record))) {
    throw new ServiceError("conflict", `"${name}" runs`, end);
  }
  const sessionRoot = record.runtime.session_root ?? dirname(record.runtime.manifest_path);
  const instance = openSessionFolder(deps.files, sessionRoot).readCurrentInstance();
  if (instance && recordedProcessLives(deps.processes, claimOf(instance))) {
    throw new ServiceError("conflict", `process ${instance.pid} may still be the gateway of "${name}"`, end);
  }
  const manifest = openRecordOrNull(deps.files, record)?.manifest;
  const program = manifest ? await recordedProgram(deps, manifest) : null;
  if (program) {
    throw new ServiceError("conflict", `process ${program.pid} of "${name}" outlived its tmux session`, end);
  }
  const turn = createTurnDirectories({ files: deps.files, sessionRoot })
    .all()
    .find((one) => !one.result() && isTurnAlive(deps.processes, one));
  if (turn) throw new ServiceError("conflict", `"${name}" runs ${turn.turnId}`, end);
  return { record, sessionRoot: ownFolder(deps, sessionRoot) };
}

/**
 * Removes the session folder and the record: prompts, turns, logs and history of the agent are then gone for
 * good. Its mail stays. False when the record was replaced meanwhile: a later instance of the agent keeps
 * everything.
 */
export async function forgetAgent(deps: ForgetDeps, left: LeftBehind): Promise<boolean> {
  const { agent_id: agentId, generation_id: generationId } = left.record;
  if (deps.registry.read(agentId)?.generation_id !== generationId) return false;
  if (left.sessionRoot !== null) deps.files.remove("file:session-remove", left.sessionRoot);
  return deps.registry.remove(agentId, generationId);
}

/** Null for a folder that is gone or is no session of ours. */
function ownFolder({ files, runtimeRoot }: ForgetDeps, sessionRoot: string): ContainedPath | null {
  try {
    return files.exists(sessionRoot) ? removableSession(files, runtimeRoot, sessionRoot) : null;
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

/** Who is to come in an agent's place. */
interface Replacement {
  agentName: string;
  agentId: string;
  /** Null for a name that nobody has. */
  tmuxSessionName: string | null;
  /** The team file that is to own it: an agent of another owner is not ended for it. */
  team?: TeamOwner | undefined;
}

/**
 * Ends whatever runs under this name, for a launch that is to take its place; with `clean` what it left is
 * removed too. Throws `conflict` when something of it lives on, and, with nothing ended, when another agent
 * or a session that is none of this agent's stands in the way of its replacement. True when something ran and
 * was ended.
 */
export async function evictExisting(
  deps: StopAgentDeps & ForgetDeps & { tmux: Tmux },
  replacement: Replacement,
  { clean }: { clean: boolean },
): Promise<boolean> {
  const { agentName } = replacement;
  const { records } = deps.registry.list();
  const former = records.filter((record) => record.agent_name === agentName);
  await refuseOthers(deps, replacement, former);
  let hasEnded = false;
  for (const record of former) {
    const found = openRecordOrNull(deps.files, record);
    const stop = found && (await stopAgent(deps, found));
    if (stop && (stop.survivingPids.length > 0 || stop.gateway.outcome === "unproven")) {
      throw new ServiceError("conflict", `"${agentName}" could not be ended; nothing was launched`);
    }
    if (stop) hasEnded ||= stop.recordStopped || stop.sessionEnded || stop.endedProcesses > 0;
    if (clean)
      await forgetAgent(deps, await planForgetting(deps, deps.registry.read(record.agent_id) ?? record));
  }
  return hasEnded;
}

async function refuseOthers(
  { registry, tmux, sessionAlive }: ForgetDeps & { tmux: Tmux },
  { agentName, agentId, tmuxSessionName: session, team }: Replacement,
  former: readonly RegistryRecord[],
): Promise<void> {
  for (const record of team ? former : []) {
    if (record.team?.file !== team?.file && (await sessionAlive(record))) throw runsAlready(record);
  }
  const other = registry.read(agentId);
  if (other && other.agent_name !== agentName && (await sessionAlive(other))) throw runsAlready(other);
  if (session === null || former.some(({ terminal }) => terminal.current_session_name === session)) return;
  if (await tmux.hasSession(session)) throw sessionExists(tmux, session);
}

/**
 * Ends what an agent of this name left whose tmux session has gone: a gateway that is a separate process
 * lives on when the tmux server dies, and once the name is taken again no command finds it. A record that
 * cannot be opened is left to the clean-up.
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
