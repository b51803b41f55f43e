import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files of the repository when `bun run check` last found nothing wrong. */
export interface LastCheck {
  /** Versions of whatever else decides a result. */
  runtime: string;
  /** Path to hash of the content. */
  files: Readonly<Record<string, string>>;
}

/** All files that git does not ignore. */
export function readFiles(root: string, runtime: string): LastCheck {
  const list = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  if (list.exitCode !== 0) throw new Error(`git ls-files: ${list.stderr.toString().trim()}`);
  const files: Record<string, string> = {};
  for (const path of new Set(list.stdout.toString().split("\0").filter(Boolean))) {
    try {
      files[path] = Bun.hash(readFileSync(join(root, path))).toString(36);
    } catch {
      // Removed and not yet committed: it is missing, as a file that was removed.
    }
  }
  return { runtime, files };
}

/** Null when there is none, or none that can be read. */
export function readLastCheck(path: string): LastCheck | null {
  try {
    const found = JSON.parse(readFileSync(path, "utf8")) as Partial<LastCheck>;
    return typeof found.runtime === "string" && found.files
      ? { runtime: found.runtime, files: found.files }
      : null;
  } catch {
    return null;
  }
}

export function writeLastCheck(path: string, check: LastCheck): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(check));
  renameSync(`${path}.${process.pid}`, path);
}

/** Paths that are new, removed or different; null when nothing of the last check holds any more. */
export function changedSince(last: LastCheck | null, now: LastCheck): string[] | null {
  if (last === null || last.runtime !== now.runtime) return null;
  const paths = new Set([...Object.keys(last.files), ...Object.keys(now.files)]);
  return [...paths].filter((path) => last.files[path] !== now.files[path]).sort();
}
