import { dirname } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { type ContainedPath, PathRefused } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { isTurnAlive } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import type { Registry } from "../sessions/registry.ts";
import { removableSession, sessionPaths } from "../sessions/roots.ts";
import type { SessionAlive } from "../sessions/session-alive.ts";
import { claimOf, readCurrentInstance } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";

export interface ForgetDeps {
  files: Files;
  processes: Processes;
  registry: Registry;
  sessionAlive: SessionAlive;
  runtimeRoot: string;
}

/** What an agent that has ended left on this machine. */
export interface LeftBehind {
  record: RegistryRecord;
  /** Null when it is gone already, or does not lie where sessions of ours are: then it is nobody's to remove. */
  sessionRoot: ContainedPath | null;
}

/**
 * What `forgetAgent` would remove. Throws `conflict` while the agent, a process that says it is its gateway, or a turn,
 * which outlives its terminal, lives. Its manifest need not be readable.
 */
export async function planForgetting(deps: ForgetDeps, record: RegistryRecord): Promise<LeftBehind> {
  const name = record.agent_name;
  const stop = `svc-mgr agents single --agent-id ${record.agent_id} stop`;
  const { state } = record.lifecycle;
  if ((state === "active" || state === "relaunching") && (await deps.sessionAlive(record))) {
    throw new ServiceError("conflict", `"${name}" runs. End it first with: ${stop}`);
  }
  const sessionRoot = record.runtime.session_root ?? dirname(record.runtime.manifest_path);
  const instance = readCurrentInstance(deps.files, sessionPaths(sessionRoot).currentInstance);
  if (instance && recordedProcessLives(deps.processes, claimOf(instance))) {
    throw new ServiceError(
      "conflict",
      `process ${instance.pid} may still be the gateway of "${name}". End it first with: ${stop}`,
    );
  }
  const turn = createTurnDirectories({ files: deps.files, sessionRoot })
    .all()
    .find((one) => !one.result() && isTurnAlive(deps.processes, one));
  if (turn) throw new ServiceError("conflict", `"${name}" runs ${turn.turnId}. End it first with: ${stop}`);
  return { record, sessionRoot: ownFolder(deps, sessionRoot) };
}

/**
 * Removes the session folder and the record: prompts, turns, logs and history of the agent are then gone for good.
 * Its mail stays. False when the record was replaced meanwhile: a later life of the agent keeps everything.
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
