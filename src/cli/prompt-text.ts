import { type CliIo, UsageError } from "./command.ts";
import { readStdin } from "./file-flag.ts";

/** The prompt of `--prompt`, else the whole standard input. UsageError when there is none. */
export async function readPrompt(flag: string | undefined, io: CliIo): Promise<string> {
  if (flag === undefined && io.stdinIsTty)
    throw new UsageError("give the prompt with --prompt or on standard input");
  const prompt = flag ?? (await readStdin(io));
  if (prompt.trim() === "")
    throw new UsageError("the prompt is empty; give it with --prompt or on standard input");
  return prompt;
}
