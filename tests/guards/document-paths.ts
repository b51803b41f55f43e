import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Violation } from "./tree.ts";

/**
 * Files and folders of this repository that a document names, in backticks or as the target of a link, and that are
 * not there. A name with `<`, `*` or `...` stands for many and is not looked up.
 */
export function findMissingPaths(document: string, markdown: string, root: string): Violation[] {
  const folder = join(root, document, "..");
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, "");
  const named = [...prose.matchAll(/`((?:src|tests|scripts|docs)\/[^`\s]+|\.ci\/run)`/g)]
    .map((match) => match[1] ?? "")
    .filter((path) => !/[<*]|\.\.\./.test(path))
    .map((path) => ({ path, at: join(root, path) }));
  const linked = [...prose.matchAll(/\]\(([^)#:]+)\)/g)]
    .map((match) => match[1] ?? "")
    .map((path) => ({ path, at: join(folder, path) }));
  return [...named, ...linked]
    .filter(({ at }) => !existsSync(at))
    .map(({ path }) => `${document}: names ${path}, which is not there`);
}
