import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { parseJson, renderJson } from "../../protocol/json.ts";
import { Strict } from "../../protocol/wire.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { type ListenerClaim, recordedProcessLives } from "./listener-proof.ts";

/** Where the coordination server listens unless it is given another port (ruling 1). */
export const defaultCoordinatorPort = 9891;

/** Paths of a coordination server's own folder, `<runtime-root>/coordinators/<host>-<port>`. */
export function coordinatorPaths(runtimeRoot: string, host: string, port: number) {
  return pathsIn(childPath(runtimeRoot, "coordinators", `${host.replaceAll(":", "_")}-${port}`));
}

function pathsIn(root: string) {
  const runRoot = join(root, "run");
  return {
    root,
    runRoot,
    lock: join(runRoot, "coordinator.lock"),
    instance: join(runRoot, "current-instance.json"),
    token: join(runRoot, "token"),
    challengeKey: join(runRoot, "challenge-key"),
    /** Is there when a server on this port asked for a token. */
    tokenRequired: join(root, "token-required"),
    log: join(root, "logs", "coordinator.log"),
    logRoot: join(root, "logs"),
  };
}

export type CoordinatorPaths = ReturnType<typeof pathsIn>;

/** run/current-instance.json: what the server says of itself and what proves that a process is it. */
const CoordinatorRecord = Strict({
  ...CoordinatorInstance.properties,
  process_start: Type.Optional(Type.String()),
  /** `console` for one that the command of the console started, and may end. */
  started_by: Type.Optional(Type.String()),
});
export type CoordinatorRecord = Static<typeof CoordinatorRecord>;

/**
 * The coordination servers of this runtime root whose processes live and whose folders no other user can
 * change.
 */
export function runningCoordinators(deps: {
  files: Files;
  processes: Pick<Processes, "alive" | "startToken">;
  runtimeRoot: string;
}): { paths: CoordinatorPaths; instance: CoordinatorRecord }[] {
  const { files, processes } = deps;
  return trustedFolders(files, deps.runtimeRoot).flatMap((paths) => {
    const instance = parseJson(CoordinatorRecord, files.read(paths.instance));
    const lives =
      instance &&
      recordedProcessLives(processes, { pid: instance.pid, startToken: instance.process_start ?? null });
    return lives ? [{ paths, instance }] : [];
  });
}

/** The folders of coordination servers that no other user can change. */
function trustedFolders(files: Files, runtimeRoot: string): CoordinatorPaths[] {
  const folder = join(runtimeRoot, "coordinators");
  return files
    .list(folder)
    .filter(isOneName)
    .map((name) => pathsIn(childPath(folder, name)))
    .filter((paths) => files.exposure(paths.runRoot) === null);
}

/** The folder of a coordination server, whether it runs or not. */
interface CoordinatorFolder {
  paths: CoordinatorPaths;
  /** It serves, by the lock that it holds: its record may be lost or damaged. */
  held: boolean;
  instance: CoordinatorRecord | null;
  /** Those of `paths` that are a folder instead of a file. */
  folders: string[];
}

export function coordinatorFolders(deps: {
  files: Files;
  locks: Pick<Locks, "tryTake">;
  runtimeRoot: string;
}): CoordinatorFolder[] {
  const { files, locks } = deps;
  return trustedFolders(files, deps.runtimeRoot).map((paths) => {
    const { root: _, runRoot: __, logRoot: ___, ...single } = paths;
    return {
      paths,
      held: isHeld(files, locks, paths.lock),
      instance: parseJson(CoordinatorRecord, files.read(paths.instance)),
      folders: Object.values(single).filter((path) => files.stat(path)?.directory),
    };
  });
}

/** Whether a process holds the lock at `path`. */
export function isHeld(files: Files, locks: Pick<Locks, "tryTake">, path: string): boolean {
  // A look must not make the file.
  if (!files.exists(path) || files.stat(path)?.directory) return false;
  const taken = locks.tryTake(path);
  taken?.release();
  return taken === null;
}

/** Where a coordination server says that it listens; null for what is no address. Pure. */
export function coordinatorClaim({
  pid,
  process_start,
  api_base_url: url,
}: CoordinatorRecord): ListenerClaim | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "http:" || port === "") return null;
  const host = hostname.replace(/^\[|\]$/g, "");
  return { pid, startToken: process_start ?? null, host, port: Number(port), chosenHost: null };
}

/**
 * By what others find the server: the record, and the token where our own programs look for it (ruling 12).
 */
export function publishCoordinator(
  files: Files,
  paths: CoordinatorPaths,
  instance: CoordinatorRecord,
  secrets: { token: string | null; challengeKey: string },
): void {
  const { token, challengeKey } = secrets;
  files.write("file:coordinator-key", paths.challengeKey, `${challengeKey}\n`);
  if (token === null) files.removeFile("file:coordinator-token", paths.token);
  else files.write("file:coordinator-token", paths.token, `${token}\n`);
  files.write("file:coordinator-instance", paths.instance, renderJson(instance));
}

/** Removes every file that announces the server. Returns the paths that something else occupies. */
export function retireCoordinator(files: Files, paths: CoordinatorPaths): string[] {
  return [paths.instance, paths.token, paths.challengeKey].filter((path) => {
    try {
      files.removeFile("file:coordinator-retired", path);
      return false;
    } catch (error) {
      if (storageFaultOf(error) === null) throw error;
      return true;
    }
  });
}
