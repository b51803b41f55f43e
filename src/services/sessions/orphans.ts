import { dirname } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { parseLaunchMark } from "./launch-mark.ts";
import { readManifest } from "./manifest.ts";
import { isSameProcess } from "./process-tree.ts";
import { buildRecord } from "./record.ts";
import type { Registry } from "./registry.ts";
import { sessionPaths } from "./roots.ts";

/** A tmux session that a launch of ours made and that no record names: no command finds its agent by name. */
export interface Orphan {
  tmuxSession: string;
  sessionRoot: string;
  /** Null when the launch was cut short before it was written: then the session can only be ended. */
  manifest: Manifest | null;
}

export interface OrphanDeps {
  files: Files;
  processes: Processes;
  tmux: Tmux;
  /** Absolute. A session of another runtime root belongs to another registry perhaps, and is nobody's here. */
  runtimeRoot: string;
}

/**
 * The orphans on one tmux server, by name of their session; one question to tmux. A launch that is still under way has
 * none: the process that makes it lives. Rejects when tmux cannot be asked.
 */
export async function findOrphans(deps: OrphanDeps, records: readonly RegistryRecord[]): Promise<Orphan[]> {
  const { files, processes, tmux } = deps;
  const named = new Set(records.map((record) => record.terminal.current_session_name));
  const marks = await tmux.sessionMarks();
  return marks
    .filter(({ name }) => !named.has(name))
    .flatMap(({ name, mark: text }): Orphan[] => {
      const mark = parseLaunchMark(text);
      if (!mark?.manifestPath.startsWith(`${deps.runtimeRoot}/`) || isSameProcess(processes, mark)) return [];
      const sessionRoot = dirname(mark.manifestPath);
      return [{ tmuxSession: name, sessionRoot, manifest: manifestOf(files, mark.manifestPath, name) }];
    })
    .sort((left, right) => (left.tmuxSession < right.tmuxSession ? -1 : 1));
}

function manifestOf(files: Files, path: string, tmuxSession: string): Manifest | null {
  try {
    const manifest = readManifest(files, path);
    return manifest.tmux_session_name === tmuxSession ? manifest : null;
  } catch {
    return null;
  }
}

/**
 * Publishes the record that the launch did not come to, so that every command finds the agent. Throws `conflict` when
 * another agent of its id runs.
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
