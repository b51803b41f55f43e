import { type AgentTurnsOnDisk, chooseTurn } from "./agent-turns.ts";
import type { Answer, CliIo } from "./command.ts";
import { exitCodes } from "./dispatch.ts";

/**
 * Writes an artifact of a turn as it stands, byte for byte and piece by piece; with `--json` as one string, in which what
 * is no UTF-8 stands as U+FFFD.
 */
export async function writeArtifact(
  on: AgentTurnsOnDisk,
  invocation: {
    args: { turn: string | undefined };
    inherited: Readonly<Record<string, unknown>>;
    io: CliIo;
  },
  name: "stdout" | "stderr",
): Promise<Answer | number> {
  const { turn_id } = await chooseTurn(on, invocation.args.turn);
  const pieces = on.turns.artifact(turn_id, name, { offset: 0, maxBytes: null })?.pieces ?? [];
  if (invocation.inherited["json"] !== true) {
    for (const piece of pieces) await invocation.io.writeOut(piece);
    return exitCodes.done;
  }
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (const piece of pieces) text += decoder.decode(piece, { stream: true });
  text += decoder.decode();
  return { json: { turn_id, [name]: text }, text };
}
