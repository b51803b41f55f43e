import { dirname } from "node:path";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Exposure } from "../../system/ownership.ts";
import { shellWord } from "../../system/shell-word.ts";
import { visibleLine } from "../../system/visible.ts";
import { overlayName } from "./roots.ts";

/**
 * The exposure as one clause on one line, whatever the folder is called, with the command that mends it.
 * Pure.
 */
export function explainExposure({ path, reason, command }: Exposure): string {
  return `${visibleLine(path)} ${reason}${command === null ? "" : `; run: ${command.map(shellWord).join(" ")}`}`;
}

/**
 * Throws `precondition_failed` when another user could change what `path` leads to, or when it lies in an
 * overlay that was not adopted. `what`: the subject of the message.
 */
export function refuseExposed(files: Pick<Files, "exposure">, path: string, what: string): void {
  const exposure = files.exposure(path);
  if (exposure === null) return;
  throw new ServiceError(
    "precondition_failed",
    `${visibleLine(what)} is refused: ${explainExposure(exposure)}`,
  );
}

/**
 * The same files for one look at many sessions: the folder that holds sessions is judged once, not once a
 * file below it, and what would lie in a folder that `exists` did not find is not looked for, since each miss
 * of an open is an exception. Whether something is a link is asked once. Not to be kept: another user's
 * change to that folder, a folder that comes and a link that is made show only in the next look; files are
 * opened without following links.
 */
export function judgingFoldersOnce(files: Files): Files {
  const verdicts = new Map<string, boolean>();
  const judge = (folder: string) => files.realPath(folder) === folder && files.exposure(folder) === null;
  const isSafe = (folder: string) => {
    const safe = verdicts.get(folder) ?? judge(folder);
    verdicts.set(folder, safe);
    return safe;
  };
  const links = new Map<string, boolean>();
  const isLink = (path: string) => {
    const is = links.get(path) ?? files.isLink(path);
    links.set(path, is);
    return is;
  };
  const absent = new Set<string>();
  /** Files of a gateway lie in its folder or one below. */
  const isMissing = (path: string) => {
    if (absent.size === 0) return false;
    const folder = dirname(path);
    return absent.has(folder) || absent.has(dirname(folder));
  };
  return {
    ...files,
    isLink,
    exists(path) {
      const found = !isMissing(path) && files.exists(path);
      if (!found) absent.add(path);
      return found;
    },
    read: (path, policy) => (isMissing(path) ? null : files.read(path, policy)),
    stat: (path) => (isMissing(path) ? null : files.stat(path)),
    exposure(path, options) {
      const session = dirname(path);
      const folder = dirname(session);
      const isPlain = !path.slice(folder.length).split("/").includes(overlayName);
      // A link leads out of what was judged.
      const below = isPlain && !isLink(session) && !isLink(path) && isSafe(folder);
      return files.exposure(path, options ?? (below ? { below: folder } : undefined));
    },
  };
}
