import { dirname } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { tmuxEndLine } from "../terminal/tmux/screen.ts";
import { type LaunchMark, parseLaunchMark, registryKey } from "./launch-mark.ts";
import { readManifest } from "./manifest.ts";
import { isSameProcess } from "./process-tree.ts";
import { buildRecord } from "./record.ts";
import type { Registry } from "./registry.ts";
import { sessionPaths } from "./roots.ts";

/**
 * A tmux session that a launch or a join of ours marked and that no record names: no command finds its agent.
 */
export interface Orphan {
  tmuxSession: string;
  sessionRoot: string;
  /** Null where neither mark nor manifest nor session name says it. */
  agentName: string | null;
  /** A person made the session: only they end it. */
  joined: boolean;
  /** Null when it cannot be read: `problem` says why. */
  manifest: Manifest | null;
  problem: string | null;
  /**
   * `unfinished`: the launch was cut short before it was whole. `refused`: the manifest is there and can be
   * used again once the refusal is mended. `lost`: the session's folder has gone from under an agent.
   */
  state: "whole" | "unfinished" | "refused" | "lost";
}

interface OrphanDeps {
  files: Files;
  processes: Processes;
  tmux: Tmux;
  registry: Pick<Registry, "root">;
  /** Absolute. A mark of an earlier version names no registry: then only what lies here is ours. */
  runtimeRoot: string;
}

/**
 * The orphans on one tmux server, by name of their session; one question to tmux. A launch that is still
 * under way has none: the process that makes it lives. Rejects when tmux cannot be asked.
 */
export async function findOrphans(deps: OrphanDeps, records: readonly RegistryRecord[]): Promise<Orphan[]> {
  const named = new Set(records.map((record) => record.terminal.current_session_name));
  const key = registryKey(deps.registry.root);
  const isOurs = ({ agent, manifestPath }: LaunchMark) =>
    agent ? agent.registryKey === key : manifestPath.startsWith(`${deps.runtimeRoot}/`);
  const marks = await deps.tmux.sessionMarks();
  return marks
    .filter(({ name }) => !named.has(name))
    .flatMap(({ name, mark: text }): Orphan[] => {
      const mark = parseLaunchMark(text);
      if (!mark || !isOurs(mark) || isSameProcess(deps.processes, mark)) return [];
      return [toOrphan(deps.files, name, mark)];
    })
    .sort((left, right) => (left.tmuxSession < right.tmuxSession ? -1 : 1));
}

function toOrphan(files: Files, tmuxSession: string, { manifestPath, agent }: LaunchMark): Orphan {
  const at = { tmuxSession, sessionRoot: dirname(manifestPath), joined: agent?.origin === "joined" };
  const agentName = agent?.agentName ?? nameInSession(tmuxSession);
  try {
    const manifest = readManifest(files, manifestPath);
    if (manifest.tmux_session_name === tmuxSession) {
      return { ...at, agentName: manifest.agent_name, manifest, problem: null, state: "whole" };
    }
    const problem = `its manifest is of tmux session ${manifest.tmux_session_name}`;
    return { ...at, agentName, manifest: null, problem, state: "unfinished" };
  } catch (error) {
    const refused = error instanceof ServiceError && error.reason === "precondition_failed";
    const unreadable = files.exists(at.sessionRoot) ? "unfinished" : "lost";
    const state = refused ? "refused" : unreadable;
    return { ...at, agentName, manifest: null, problem: messageOf(error), state };
  }
}

/** Of a session that a launch named: see `newTmuxSessionName`. */
function nameInSession(session: string): string | null {
  return /^SVC-(.+)-\d+$/.exec(session)?.[1] ?? null;
}

/** What can be done about an orphan; one of these is enough. Pure. */
export function orphanRemedies({ socket }: Pick<Tmux, "socket">, orphan: Orphan): Remedy[] {
  const { tmuxSession: session, agentName: name, joined, manifest, state } = orphan;
  if (manifest) return [{ code: "adopt_orphan", agent_name: manifest.agent_name }];
  if (state === "refused") return [{ code: "adopt_orphan", agent_name: name ?? session }];
  const end_line = tmuxEndLine({ session_name: session, socket });
  return [
    ...(name === null ? [] : [{ code: "join_session", session, agent_name: name } as const]),
    ...(joined ? [] : [{ code: "end_session", session, end_line } as const]),
  ];
}

/**
 * Publishes the record that is missing, so that every command finds the agent. Throws `conflict` when another
 * agent of its id runs.
 */
export async function adoptOrphan(
  deps: { registry: Registry; clock: Clock },
  orphan: Orphan & { manifest: Manifest },
): Promise<RegistryRecord> {
  const { manifest, sessionRoot } = orphan;
  const manifestPath = sessionPaths(sessionRoot).manifest;
  return deps.registry.publish(
    buildRecord({ manifest, manifestPath, sessionRoot, nowMs: deps.clock.nowMs() }),
  );
}

/**
 * Throws `conflict` when an orphan on this tmux server has the name, in whatever letters, or the id: two
 * agents would share a mailbox. One that lacks nothing but its record gets that again, so that all commands
 * find it. What a launch left that was cut short is no agent. `inSession`: the session that is about to get
 * the name.
 */
export async function refuseOrphanName(
  deps: Omit<OrphanDeps, "registry"> & { registry: Registry; clock: Clock },
  wanted: { agentName: string; agentId: string; inSession: string | null },
): Promise<void> {
  const orphans = await findOrphans(deps, deps.registry.list().records);
  const other = orphans.find(
    ({ agentName, manifest, tmuxSession, state }) =>
      tmuxSession !== wanted.inSession &&
      state !== "unfinished" &&
      (agentName?.toLowerCase() === wanted.agentName.toLowerCase() ||
        manifest?.agent_id.toLowerCase() === wanted.agentId.toLowerCase()),
  );
  if (!other) return;
  if (other.manifest) {
    const { gatewayRoot } = sessionPaths(other.sessionRoot);
    for (const at of [other.sessionRoot, gatewayRoot]) deps.files.removeLeftovers("file:leftovers", at);
    const { agent_name } = await adoptOrphan(deps, { ...other, manifest: other.manifest });
    throw new ServiceError(
      "conflict",
      `agent "${agent_name}" already runs in tmux session ${other.tmuxSession}; its record was missing and is there again`,
    );
  }
  const [remedy, ...others] = orphanRemedies(deps.tmux, other);
  const end = others.find((one) => one.code === "end_session");
  throw new ServiceError(
    "conflict",
    [
      `agent "${other.agentName}" already runs in tmux session ${other.tmuxSession}, and no record names it`,
      ...(other.state === "refused" ? [`: ${other.problem}`] : []),
      ...(end ? [`. It can be ended with \`${end.end_line}\``] : []),
    ].join(""),
    { data: { remedy } },
  );
}
