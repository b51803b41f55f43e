import { dirname } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import { type ContainedPath, isOneName, PathRefused } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { isTurnAlive } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { readManifest } from "../sessions/manifest.ts";
import { recordedProgram } from "../sessions/process-tree.ts";
import type { Registry } from "../sessions/registry.ts";
import { removableSession, sessionPaths, sessionRootOf } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import { readWaitingPrompts } from "../status/project.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { claimOf } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";

interface UnreferencedDeps {
  files: Files;
  clock: { nowMs(): number };
  processes: Processes;
  tools: readonly LaunchTool[];
  registry: Pick<Registry, "list">;
  runtimeRoot: string;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/** A session folder that no record refers to: no command of an agent reaches it. */
export interface UnreferencedSession {
  sessionRoot: string;
  /** Null where it has none that can be read. */
  manifest: Manifest | null;
  /** Epoch milliseconds of the last change of its queue, else of its manifest. */
  usedAtMs: number;
  /** Prompts that wait; null where the queue cannot be read. */
  waiting: number | null;
  /** Why it is not to be removed, as a clause; null where it is. */
  inUse: string | null;
}

/** A launch makes the folder first, and the record last. */
const launchMs = 10 * 60_000;

/**
 * The session folders below the runtime root that no record refers to, those that were used last first. One
 * of which nobody can say that it is not used says why.
 */
export async function findUnreferenced(deps: UnreferencedDeps): Promise<UnreferencedSession[]> {
  const { files, registry, runtimeRoot } = deps;
  const { records, ignored } = registry.list();
  const referenced = new Set(records.flatMap((record) => realRoot(files, record)));
  const unreadIds = new Set(ignored.map(({ path }) => idIn(path)));
  const sessions = files.list(`${runtimeRoot}/sessions`).filter(isOneName);
  const roots = sessions.flatMap((backend) =>
    files
      .list(`${runtimeRoot}/sessions/${backend}`)
      .filter(isOneName)
      .map((id) => sessionRootOf(runtimeRoot, backend, id)),
  );
  const found: UnreferencedSession[] = [];
  for (const sessionRoot of roots) {
    const real = files.realPath(sessionRoot);
    if (real === null || referenced.has(real)) continue;
    found.push(await judge(deps, sessionRoot, unreadIds));
  }
  return found.sort((one, other) => other.usedAtMs - one.usedAtMs);
}

/** Removes one with all that it holds. False when it is gone already, or no session folder of ours. */
export function removeUnreferenced(
  { files, runtimeRoot }: Pick<UnreferencedDeps, "files" | "runtimeRoot">,
  { sessionRoot }: UnreferencedSession,
): boolean {
  const folder = ownFolder(files, runtimeRoot, sessionRoot);
  if (folder === null) return false;
  files.remove("file:session-remove", folder);
  return true;
}

function ownFolder(files: Files, runtimeRoot: string, sessionRoot: string): ContainedPath | null {
  try {
    return files.exists(sessionRoot) ? removableSession(files, runtimeRoot, sessionRoot) : null;
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

function realRoot(files: Files, { runtime }: RegistryRecord): string[] {
  const root = runtime.session_root ?? dirname(runtime.manifest_path);
  return [files.realPath(root) ?? root];
}

/** `.../live_agents/<id>/record.json` or the folder itself. */
const idIn = (path: string): string => /live_agents\/([^/]+)/.exec(path)?.[1] ?? "";

async function judge(
  deps: UnreferencedDeps,
  sessionRoot: string,
  unreadIds: ReadonlySet<string>,
): Promise<UnreferencedSession> {
  const { files } = deps;
  const paths = sessionPaths(sessionRoot);
  const manifest = manifestOrNull(files, paths.manifest);
  const usedAtMs = Math.max(
    ...[paths.queue, paths.manifest, sessionRoot].map((path) => files.stat(path)?.modifiedMs ?? 0),
  );
  const found = { sessionRoot, manifest, usedAtMs, waiting: countWaiting(files, sessionRoot) };
  if (manifest && unreadIds.has(manifest.agent_id)) {
    return { ...found, inUse: `the record of "${manifest.agent_name}" cannot be read` };
  }
  try {
    return { ...found, inUse: await whatUses(deps, sessionRoot, { manifest, usedAtMs }) };
  } catch (error) {
    return { ...found, inUse: `nobody can say whether it is used: ${messageOf(error)}` };
  }
}

async function whatUses(
  deps: UnreferencedDeps,
  sessionRoot: string,
  { manifest, usedAtMs }: Pick<UnreferencedSession, "manifest" | "usedAtMs">,
): Promise<string | null> {
  const { files, processes } = deps;
  const instance = openSessionFolder(files, sessionRoot).readCurrentInstance();
  if (instance && recordedProcessLives(processes, claimOf(instance))) {
    return `process ${instance.pid} may be its gateway`;
  }
  const turn = createTurnDirectories({ files, sessionRoot })
    .all()
    .find((one) => !one.result() && isTurnAlive(processes, one));
  if (turn) return `${turn.turnId} runs`;
  if (manifest === null) {
    return deps.clock.nowMs() - usedAtMs < launchMs ? "a launch may be under way" : null;
  }
  const { tmux_session_name: session, tmux } = manifest;
  if (await deps.tmuxFor(tmux.socket).hasSession(session)) return `tmux session ${session} is there`;
  const program = await recordedProgram(deps, manifest);
  return program ? `process ${program.pid} is its program` : null;
}

function manifestOrNull(files: Files, path: string): Manifest | null {
  try {
    return readManifest(files, path);
  } catch {
    return null;
  }
}

/** Prompts that wait in the queue of a session; null where it cannot be read. */
export function countWaiting(files: Files, sessionRoot: string): number | null {
  const { queue } = sessionPaths(sessionRoot);
  try {
    return readWaitingPrompts(files, queue).length;
  } catch {
    return null;
  }
}
