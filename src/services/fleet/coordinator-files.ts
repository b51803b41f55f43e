import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { renderJson } from "../../protocol/json.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";

/** Where `svc-coord serve` listens unless it is told another port (ruling 1). */
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
    log: join(root, "logs", "coordinator.log"),
    logRoot: join(root, "logs"),
  };
}

export type CoordinatorPaths = ReturnType<typeof pathsIn>;

/** The coordination servers of this runtime root whose processes live and whose folders no other user can change. */
export function runningCoordinators(deps: {
  files: Files;
  processes: Pick<Processes, "alive">;
  runtimeRoot: string;
}): { paths: CoordinatorPaths; instance: CoordinatorInstance }[] {
  const { files, processes } = deps;
  const folder = join(deps.runtimeRoot, "coordinators");
  return files
    .list(folder)
    .filter(isOneName)
    .flatMap((name) => {
      const paths = pathsIn(childPath(folder, name));
      if (files.exposure(paths.runRoot) !== null) return [];
      const instance = readInstance(files.readOwn(paths.instance));
      return instance && processes.alive(instance.pid) ? [{ paths, instance }] : [];
    });
}

function readInstance(text: string | null): CoordinatorInstance | null {
  try {
    const value: unknown = JSON.parse(text ?? "null");
    return Value.Check(CoordinatorInstance, value) ? value : null;
  } catch {
    return null;
  }
}

/** By what others find the server: the record, and the token where our own programs look for it (ruling 12). */
export function publishCoordinator(
  files: Files,
  paths: CoordinatorPaths,
  instance: CoordinatorInstance,
  token: string | null,
): void {
  if (token === null) files.removeFile("file:coordinator-token", paths.token);
  else files.write("file:coordinator-token", paths.token, `${token}\n`);
  files.write("file:coordinator-instance", paths.instance, renderJson(instance));
}

/** Nothing is left that says there is a server. */
export function retireCoordinator(files: Files, paths: CoordinatorPaths): void {
  files.removeFile("file:coordinator-instance", paths.instance);
  files.removeFile("file:coordinator-token", paths.token);
}
