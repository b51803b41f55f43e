import { basename, dirname, relative } from "node:path";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { sessionPaths } from "./roots.ts";

/**
 * Throws `precondition_failed` when the session's folder, or a folder or file of ours in it, is a symbolic link: what is
 * behind it is not ours to read or write. Folders above it may be links: where sessions live is the user's choice.
 * Of turns each is looked at by itself.
 */
export function refuseLinks(files: Pick<Files, "isLink">, sessionRoot: string): void {
  const { queue, ...paths } = sessionPaths(sessionRoot);
  const ours = [sessionRoot, ...Object.values(paths), queue, `${queue}-wal`, `${queue}-shm`];
  const linked = ours.find((path) => files.isLink(path));
  if (linked === undefined) return;
  const name = relative(dirname(sessionRoot), linked);
  throw new ServiceError(
    "precondition_failed",
    `${name} is a symbolic link and is not followed: put back the ${basename(linked)} that was there`,
  );
}
