import { basename, dirname } from "node:path";
import type { BackupPlace } from "../../protocol/backup.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";

export interface BackupRoots {
  registryRoot: string;
  /** Where sessions lie unless a project keeps its own. */
  runtimeRoot: string;
  stateRoot: string;
}

/**
 * Everything of a user's agents: what the roots hold, sessions that lie elsewhere, and the mailboxes that agents or
 * projects use. Places that are not there are left out. `mailboxRoots`: those that are known besides the agents'.
 */
export function findPlaces(
  files: Pick<Files, "stat" | "realPath">,
  roots: BackupRoots,
  records: readonly RegistryRecord[],
  mailboxRoots: readonly string[],
): BackupPlace[] {
  const isFolder = (path: string) => files.stat(path)?.directory === true;
  const below = (root: string, path: string) => path.startsWith(`${root}/`);
  const sessions = records
    .map(({ runtime }) => runtime.session_root ?? dirname(runtime.manifest_path))
    .filter((path) => !below(roots.runtimeRoot, path));
  const mailboxes = [
    ...records.flatMap(({ mailbox }) => mailbox?.filesystem_root ?? []),
    ...mailboxRoots,
  ].map((path) => files.realPath(path) ?? path);
  const numbered = (kind: "session" | "mailbox", paths: readonly string[]) =>
    [...new Set(paths)]
      .filter(isFolder)
      .sort()
      .map((path, index): BackupPlace => ({ name: `${kind}-${index + 1}`, kind, path }));
  const single: BackupPlace[] = [
    { name: "registry", kind: "registry", path: roots.registryRoot },
    { name: "runtime", kind: "runtime", path: roots.runtimeRoot },
    { name: "state", kind: "state", path: roots.stateRoot },
  ];
  return [
    ...single.filter(({ path }) => isFolder(path)),
    ...numbered("session", sessions),
    ...numbered("mailbox", mailboxes),
  ];
}

/** Of the state folder: other places hold them, or they are true of this machine only. */
const notOfState = new Set(["registry", "runtime", "overlays"]);
/** What a process that runs holds or publishes: nothing of it means anything later. */
const ofProcess =
  /(^|\/)(run\/(current-instance\.json|gateway\.pid|challenge-key)|launch-[0-9a-f]+\.sh|\.[^/]*\.tmp)$|\.lock$|-(wal|shm|journal)$/;
const secret = /(^|\/)(run\/token|token|launch-environment\.json|attestation\.key)$/;

/** `path`: relative to the place. Pure. */
export function judgeFile(place: Pick<BackupPlace, "kind">, path: string): "take" | "leave" | "secret" {
  const [top = ""] = path.split("/");
  if (place.kind === "state" && notOfState.has(top)) return "leave";
  if (ofProcess.test(path)) return "leave";
  return secret.test(path) ? "secret" : "take";
}

export const isDatabase = (path: string): boolean => path.endsWith(".sqlite");

/** The id of the agent whose record an entry is; null for another entry. Pure. */
export function agentOf(
  place: Pick<BackupPlace, "kind">,
  [top, agentId, file]: readonly string[],
): string | null {
  return place.kind === "registry" && top === "live_agents" && file === "record.json"
    ? (agentId ?? null)
    : null;
}

/** Where a session of this root belongs below a runtime root: its backend and id. Pure. */
export const sessionNames = (sessionRoot: string): [backend: string, id: string] => [
  basename(dirname(sessionRoot)),
  basename(sessionRoot),
];
