import { resolve } from "node:path";
import type { Files } from "../system/files.ts";
import { UsageError } from "./command.ts";

/**
 * The text of the file that a flag names, a relative path counted from `cwd`. Throws UsageError for one that is not
 * there, that is a folder, or that this user may not read.
 */
export function readFileFlag(
  flag: string,
  path: string,
  { files, cwd }: { files: Pick<Files, "read">; cwd: string },
): string {
  let text: string | null;
  try {
    text = files.read(resolve(cwd, path));
  } catch (error) {
    const why = whyUnreadable(error);
    throw why === null ? error : new UsageError(`--${flag}: ${path} ${why}`);
  }
  if (text === null) throw new UsageError(`--${flag}: there is no file ${path}`);
  return text;
}

function whyUnreadable(error: unknown): string | null {
  const { code } = error as { code?: unknown };
  if (code === "EISDIR") return "is a folder, not a file: name a file";
  return code === "EACCES" || code === "EPERM"
    ? "may not be read by this user: make it readable, or name another"
    : null;
}
