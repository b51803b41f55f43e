import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { moduleSpecifiers, type SourceText, splitSource } from "./source-text.ts";

export const repositoryRoot = join(import.meta.dir, "..", "..");

/** One source file as the guards look at it. */
export interface SourceFile {
  /** From the repository root, with `/`: `src/db/open.ts`. */
  path: string;
  source: string;
  text: SourceText;
  imports: { specifier: string; line: number; resolved: string | null }[];
}

/** What a guard found wrong. One line, so that a list of them is the failure message. */
export type Violation = string;

function sourceFile(path: string, source: string): SourceFile {
  const text = splitSource(source);
  const imports = moduleSpecifiers(text).map(({ specifier, line }) => ({
    specifier,
    line,
    resolved: specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(path), specifier)) : null,
  }));
  return { path, source, text, imports };
}

/**
 * The TypeScript files, .ts and .tsx, below folders of the repository, sorted by path. A folder that is
 * absent has none.
 */
export function readTree(...folders: string[]): SourceFile[] {
  return folders
    .flatMap((folder) => listFiles(folder))
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => sourceFile(path, readFileSync(join(repositoryRoot, path), "utf8")));
}

/** All files below a folder of the repository, sorted. */
function listFiles(folder: string): string[] {
  let entries: import("node:fs").Dirent[];
  try {
    entries = readdirSync(join(repositoryRoot, folder), { withFileTypes: true, recursive: true });
  } catch {
    return [];
  }
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(repositoryRoot.length + 1))
    .sort();
}

/** A planted tree for a guard's own test: paths to sources. */
export function plantedTree(files: Record<string, string>): SourceFile[] {
  return Object.entries(files).map(([path, source]) => sourceFile(path, source));
}

/** Every match of `pattern` (global) in the code of a file, as violations. */
export function matchesInCode(file: SourceFile, pattern: RegExp, why: string): Violation[] {
  return [...file.text.code.matchAll(pattern)].map((match) => {
    const line = file.text.code.slice(0, match.index).split("\n").length;
    return `${file.path}:${line} ${match[0].trim()}: ${why}`;
  });
}
