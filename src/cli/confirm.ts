import type { CliIo } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";

/**
 * Lets a person at the terminal decide about what cannot be undone; anything but `y` or `yes` is a no and ends the
 * command as refused. Off a terminal nobody can be asked: there only `--yes` is a yes.
 */
export async function confirmed(io: CliIo, question: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!io.stdinIsTty || !io.stderrIsTty) {
    throw new CommandFailure(exitCodes.refused, `${question} Say so with --yes.`, {
      error: "confirmation_required",
      detail: `${question} Say so with --yes.`,
    });
  }
  await io.writeError(`${question} [y/N] `);
  const answer = (await io.readLine()) ?? "";
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CommandFailure(exitCodes.refused, "nothing was done");
}
