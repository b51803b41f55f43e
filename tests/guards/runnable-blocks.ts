import type { Violation } from "./tree.ts";

/** A fenced `sh` block of a document and the comment that says what becomes of it. */
export interface ShellBlock {
  document: string;
  /** 1-based line of the opening fence. */
  line: number;
  script: string;
  /** Null when the block carries no mark. */
  mark: { run: true } | { run: false; reason: string } | null;
}

/**
 * The shell blocks of a Markdown document. `<!-- run: e2e -->` on the line before the fence: a test executes the
 * block. `<!-- not run: reason -->`: nothing does, and why. Other blocks show no commands and need no mark.
 */
export function shellBlocks(document: string, markdown: string): ShellBlock[] {
  const pattern = /^(?:<!-- *(.*?) *-->\n)?```(?:sh|bash|shell|console)\n([\s\S]*?)^```$/gm;
  return [...markdown.matchAll(pattern)].map((match) => ({
    document,
    line: markdown.slice(0, match.index).split("\n").length + (match[1] === undefined ? 0 : 1),
    script: match[2] ?? "",
    mark: toMark(match[1] ?? ""),
  }));
}

function toMark(comment: string): ShellBlock["mark"] {
  if (comment === "run: e2e") return { run: true };
  const reason = /^not run: (.+)$/.exec(comment)?.[1];
  return reason === undefined ? null : { run: false, reason };
}

/** Blocks that do not say whether a test executes them. */
export function findUnmarkedBlocks(blocks: ShellBlock[]): Violation[] {
  return blocks
    .filter(({ mark }) => mark === null)
    .map(
      ({ document, line }) => `${document}:${line}: mark the block with "run: e2e" or "not run: <reason>"`,
    );
}
