import { join } from "node:path";
import type { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Files } from "../../system/files.ts";

/** Where `svc-coord serve` listens unless it is told another port (ruling 1). */
export const defaultCoordinatorPort = 9891;

/** Paths of a coordination server's own folder, `<runtime-root>/coordinators/<host>-<port>`. */
export function coordinatorPaths(runtimeRoot: string, host: string, port: number) {
  return pathsIn(join(runtimeRoot, "coordinators", `${host.replaceAll(":", "_")}-${port}`));
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

/** Folders of all coordination servers that ever ran here. */
export function coordinatorsIn(files: Files, runtimeRoot: string): CoordinatorPaths[] {
  const folder = join(runtimeRoot, "coordinators");
  return files.list(folder).map((name) => pathsIn(join(folder, name)));
}

export type CoordinatorPaths = ReturnType<typeof pathsIn>;

/** By what others find the server: the record, and the token where our own programs look for it (ruling 12). */
export function publishCoordinator(
  files: Files,
  paths: CoordinatorPaths,
  instance: CoordinatorInstance,
  token: string | null,
): void {
  if (token === null) files.remove("file:coordinator-token", paths.token);
  else files.write("file:coordinator-token", paths.token, `${token}\n`);
  files.write("file:coordinator-instance", paths.instance, renderJson(instance));
}

/** Nothing is left that says there is a server. */
export function retireCoordinator(files: Files, paths: CoordinatorPaths): void {
  files.remove("file:coordinator-instance", paths.instance);
  files.remove("file:coordinator-token", paths.token);
}
