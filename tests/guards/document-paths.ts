import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { anchorOf } from "../../scripts/documents.ts";
import type { Violation } from "./tree.ts";

/**
 * Files and folders of this repository that a document names, in backticks or as the target of a link, and
 * that are not there. A name with `<`, `*` or `...` stands for many and is not looked up.
 */
export function findMissingPaths(document: string, markdown: string, root: string): Violation[] {
  const folder = join(root, document, "..");
  const prose = withoutBlocks(markdown);
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

/** Links of a document to a heading, in it or in another document, that no heading answers to. */
export function findMissingAnchors(document: string, markdown: string, root: string): Violation[] {
  const links = [...withoutBlocks(markdown).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)];
  return links
    .filter(([, path, anchor]) => {
      const at = path ? join(root, document, "..", path) : null;
      if (at !== null && !existsSync(at)) return false;
      const text = at === null ? markdown : readFileSync(at, "utf8");
      const headings = [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map((match) =>
        anchorOf(match[1] ?? ""),
      );
      return !headings.includes(anchor ?? "");
    })
    .map(([, path, anchor]) => `${document}: no heading is called ${path}#${anchor}`);
}

function withoutBlocks(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, "");
}
