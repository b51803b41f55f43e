import { Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../../protocol/json.ts";
import type { Files } from "../../../system/files.ts";

/** The mailbox roots that this host has joined, kept outside of them. */
export type JoinedRoots = ReturnType<typeof openJoinedRoots>;

const RootsFile = Type.Object({ roots: Type.Array(Type.String()) });

/**
 * Roots in the file at `path`. One whose folder is gone is forgotten: a later folder at that place may come
 * with a cloned repository, and mail that waits in it is not ours.
 */
export function openJoinedRoots(files: Pick<Files, "read" | "exists" | "write">, path: string) {
  const known = parseJson(RootsFile, files.read(path))?.roots ?? [];
  let roots = new Set(known);

  /** Those of `wanted` that are there. */
  function keep(wanted: readonly string[]): void {
    roots = new Set(wanted.filter((root) => files.exists(root)));
    files.write("file:host-roots", path, renderJson({ roots: [...roots] }));
  }

  if (known.some((root) => !files.exists(root))) keep(known);
  return {
    has: (root: string): boolean => roots.has(root),
    /** On disk when it returns. */
    add: (root: string): void => keep([...roots, root]),
  };
}
