import { dirname } from "node:path";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Exposure } from "../../system/ownership.ts";
import { shellWord } from "../terminal/shell-word.ts";
import { overlayName } from "./roots.ts";

/** The exposure as one clause, with the command that mends it. Pure. */
export function explainExposure({ path, reason, command }: Exposure): string {
  return `${path} ${reason}${command === null ? "" : `; run: ${command.map(shellWord).join(" ")}`}`;
}

/**
 * Throws `precondition_failed` when another user could change what `path` leads to, or when it lies in an overlay that
 * was not adopted. `what`: the subject of the message.
 */
export function refuseExposed(files: Pick<Files, "exposure">, path: string, what: string): void {
  const exposure = files.exposure(path);
  if (exposure === null) return;
  throw new ServiceError("precondition_failed", `${what} is refused: ${explainExposure(exposure)}`);
}

/**
 * The same files for one look at many sessions: the folder that holds sessions is judged once, not once a file below
 * it. Not to be kept: another user's change to that folder shows only in the next look.
 */
export function judgingFoldersOnce(files: Files): Files {
  const verdicts = new Map<string, boolean>();
  const judge = (folder: string) => files.realPath(folder) === folder && files.exposure(folder) === null;
  const isSafe = (folder: string) => {
    const safe = verdicts.get(folder) ?? judge(folder);
    verdicts.set(folder, safe);
    return safe;
  };
  return {
    ...files,
    exposure(path, options) {
      const session = dirname(path);
      const folder = dirname(session);
      const isPlain = !path.slice(folder.length).split("/").includes(overlayName);
      // A link leads out of what was judged.
      const below = isPlain && !files.isLink(session) && !files.isLink(path) && isSafe(folder);
      return files.exposure(path, options ?? (below ? { below: folder } : undefined));
    },
  };
}
