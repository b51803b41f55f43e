import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ShellBlock } from "../../scripts/documents.ts";

/** What became of the blocks of one document. */
export interface DocumentRun {
  /** Of the shell: that of the first command that failed, else 0. Null when a signal ended it. */
  exitCode: number | null;
  /** The blocks that began, in order, with what each printed: both streams, as they came. */
  began: { block: ShellBlock; output: string }[];
  /** The blocks that began, each with what it printed, for the reader of a failure. */
  transcript: string;
}

/** Stands before the output of each block; no program prints it. */
const separator = "\u001e";

/**
 * Runs the blocks that are marked `run: e2e` one after the other in one `sh`, as a person would who types
 * them, and ends at the first command that fails. The script lies in `folder`, which must be there. What a
 * block leaves running in the background is ended with the shell.
 */
export async function runBlocks(
  blocks: readonly ShellBlock[],
  options: { folder: string; cwd: string; env: Record<string, string> },
): Promise<DocumentRun> {
  const run = blocks.filter(({ mark }) => mark?.run);
  const script = join(options.folder, "blocks.sh");
  const parts = run.map((block) => `printf '\\036\\n'\n${block.script}`);
  writeFileSync(script, `exec 2>&1\n${parts.join("")}`);
  const child = Bun.spawn(["sh", "-eu", script], {
    cwd: options.cwd,
    env: options.env,
    stdin: "ignore",
    stdout: "pipe",
    detached: true,
  });
  try {
    const exited = child.exited.finally(() => endGroup(child.pid));
    const printed = (await new Response(child.stdout).text()).replaceAll("\r\n", "\n");
    await exited;
    const outputs = printed.split(`${separator}\n`).slice(1);
    const began = run
      .slice(0, outputs.length)
      .map((block, index) => ({ block, output: outputs[index] ?? "" }));
    const transcript = began.map(({ block, output }) => `${block.script}\n${output}`).join("\n");
    return { exitCode: child.exitCode, began, transcript };
  } finally {
    endGroup(child.pid);
  }
}

/** Where the blocks printed something else than the document shows, a text for each. */
export function findDifferences({ began }: DocumentRun): string[] {
  return began
    .filter(({ block, output }) => block.shown !== null && !printed(block.shown, output))
    .map(
      ({ block, output }) =>
        `${block.document}:${block.line} shows\n${block.shown}\nbut what was printed is\n${output}`,
    );
}

/**
 * Whether the lines shown stand in the output, one behind the other. `…` stands for any text of a line, and
 * alone on a line for any lines; runs of blanks count as one, because columns are as wide as what is in them.
 */
export function printed(shown: string, output: string): boolean {
  const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lines = squeezed(shown).map((line) =>
    line === "…" ? "(?:[^\\n]*\\n)*?" : `${line.split("…").map(quoted).join("[^\\n]*")}\\n`,
  );
  return new RegExp(`(?:^|\\n)${lines.join("")}`).test(`${squeezed(output).join("\n")}\n`);
}

function squeezed(text: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().replace(/ +/g, " "));
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It left nothing.
  }
}
