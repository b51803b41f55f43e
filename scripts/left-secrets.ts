import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * Files below a folder, by their paths from there, that hold something of a pattern: what tests plant as
 * secrets has no place in what a run leaves behind. Files that vanish meanwhile are passed over.
 */
export function findLeftSecrets(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => holds(path, pattern))
    .map((path) => relative(folder, path))
    .sort();
}

function holds(path: string, pattern: RegExp): boolean {
  try {
    return pattern.test(readFileSync(path, "latin1"));
  } catch {
    return false;
  }
}
