import type { CliIo, Command } from "./command.ts";
import { completeLine } from "./completion.ts";
import { splitTypedLine } from "./typed-line.ts";

/**
 * `complete -- WORDS CURRENT` and `complete --line LINE`, by which the completion scripts ask. Writes the answer that
 * `completionScript` describes. Whatever goes wrong offers nothing: a shell at its prompt is no place for an error.
 */
export async function answerShell(root: Command, argv: readonly string[], io: CliIo): Promise<number> {
  const { words, current } = readQuestion(argv);
  try {
    const { candidates, paths } = await completeLine(root, words, current, async (what, given) => {
      const { liveValues } = await import("./completion-values.ts");
      return liveValues(io, what, given);
    });
    const lines = candidates.map(({ value, description }) => `${value}\t${description}\n`);
    await io.writeOut(`${lines.join("")}:${paths ?? "none"}\n`);
  } catch {
    await io.writeOut(":none\n").catch(() => {});
  }
  return 0;
}

function readQuestion(argv: readonly string[]): { words: readonly string[]; current: string } {
  const [form, ...rest] = argv;
  if (form === "--line") {
    const { words, current } = splitTypedLine(rest[0] ?? "");
    return { words: words.slice(1), current };
  }
  return { words: rest.slice(0, -1), current: rest.at(-1) ?? "" };
}
