import type { ShellBlock } from "../../scripts/documents.ts";
import type { Violation } from "./tree.ts";

/** Blocks that do not say whether a test executes them, and output shown of a block that nothing executes. */
export function findUnmarkedBlocks(blocks: ShellBlock[]): Violation[] {
  return blocks.flatMap(({ document, line, mark, shown }) => {
    const at = `${document}:${line}`;
    if (mark === null) return [`${at}: mark the block with "run: e2e" or "not run: <reason>"`];
    return shown !== null && !mark.run ? [`${at}: shows the output of a block that is not run`] : [];
  });
}

/** Blocks marked `shown` that do not stand behind a shell block: no test would ever compare them. */
export function findStrayOutput(document: string, markdown: string, blocks: ShellBlock[]): Violation[] {
  const marked = markdown.match(/^<!-- shown -->$/gm)?.length ?? 0;
  const compared = blocks.filter(({ shown }) => shown !== null).length;
  return marked === compared ? [] : [`${document}: ${marked - compared} shown blocks follow no shell block`];
}
