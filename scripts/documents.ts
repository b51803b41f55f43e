import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./bootstrap.ts";

/** A fenced `sh` block of a document and the comment that says what becomes of it. */
export interface ShellBlock {
  document: string;
  /** 1-based line of the opening fence. */
  line: number;
  script: string;
  /** Null when the block carries no mark. */
  mark: { run: true } | { run: false; reason: string } | null;
  /** What the document says that one sees: the `text` block behind it that is marked `shown`. */
  shown: string | null;
}

/**
 * The shell blocks of a Markdown document. `<!-- run: e2e -->` on the line before the fence: a test executes
 * the block. `<!-- not run: reason -->`: nothing does, and why. A `text` block behind it that is marked
 * `<!-- shown -->` is what the block prints; `…` stands for any text of a line, and alone on a line for any
 * lines. Blocks of other languages show no commands and need no mark.
 */
export function shellBlocks(document: string, markdown: string): ShellBlock[] {
  const shell = /^(?:<!-- *(.*?) *-->\n)?```(?:sh|bash|shell|console)\n([\s\S]*?)^```$/gm;
  return [...markdown.matchAll(shell)].map((match) => {
    const behind = markdown.slice(match.index + match[0].length);
    return {
      document,
      line: markdown.slice(0, match.index).split("\n").length + (match[1] === undefined ? 0 : 1),
      script: match[2] ?? "",
      mark: toMark(match[1] ?? ""),
      shown: /^\n+<!-- shown -->\n```text\n([\s\S]*?\n)```(?:\n|$)/.exec(behind)?.[1] ?? null,
    };
  });
}

function toMark(comment: string): ShellBlock["mark"] {
  if (comment === "run: e2e") return { run: true };
  const reason = /^not run: (.+)$/.exec(comment)?.[1];
  return reason === undefined ? null : { run: false, reason };
}

/**
 * The Markdown documents of the repository, from its root, with `/`, sorted: those at the top and all of
 * `docs/`.
 */
export function listDocuments(): string[] {
  const top = readdirSync(repositoryRoot);
  const below = readdirSync(join(repositoryRoot, "docs"), { recursive: true, encoding: "utf8" });
  return [...top, ...below.map((path) => `docs/${path}`)].filter((path) => path.endsWith(".md")).sort();
}

/** The shell blocks of one document of the repository. */
export function readBlocks(document: string): ShellBlock[] {
  return shellBlocks(document, readFileSync(join(repositoryRoot, document), "utf8"));
}

/** The anchor that code hosts give a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-");
}
