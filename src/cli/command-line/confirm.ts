import { visibleLine } from "../../system/visible.ts";
import type { Caller, CliIo } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";

/**
 * Lets a person at the terminal decide about what cannot be undone; anything but `y` or `yes` is a no and
 * ends the command as refused. Off a terminal nobody can be asked: there only `--yes` is a yes.
 */
export async function confirmed(io: CliIo, question: string, yes: boolean): Promise<void> {
  if (yes) return;
  const asked = visibleLine(question);
  if (!io.stdinIsTty || !io.stderrIsTty) {
    throw new CommandFailure(exitCodes.refused, `${asked} Say so with --yes.`, {
      error: "confirmation_required",
      detail: `${asked} Say so with --yes.`,
    });
  }
  await io.writeError(`${asked} [y/N] `);
  const answer = (await io.readLine()) ?? "";
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CommandFailure(exitCodes.refused, "nothing was done");
}

/** Whether a person can be asked. */
export const canAsk = ({ io, inherited }: Caller): boolean =>
  io.stdinIsTty && io.stderrIsTty && inherited["json"] !== true;

/**
 * Lets a person choose one of two words, by its first letter or whole; anything else ends the command as
 * refused, with nothing done. Only where `canAsk`.
 */
export async function chooseWord<Word extends string>(
  io: CliIo,
  question: string,
  words: readonly [Word, Word],
): Promise<Word> {
  await io.writeError(`${question} [${words.join("/")}] `);
  const typed = (await io.readLine())?.trim().toLowerCase() ?? "";
  const chosen = words.find((word) => typed !== "" && word.startsWith(typed));
  if (chosen === undefined) throw new CommandFailure(exitCodes.refused, "nothing was done");
  return chosen;
}
