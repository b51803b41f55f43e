import { type AgentTurnsOnDisk, chooseTurn } from "./agent-turns.ts";
import type { Answer, CliIo } from "./command.ts";
import { exitCodes } from "./dispatch.ts";

/** Writes an artifact of a turn as it stands, piece by piece; with `--json` as one string. */
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
  const part = { offset: 0, maxBytes: Number.POSITIVE_INFINITY };
  const pieces = on.turns.artifact(turn_id, name, part) ?? [];
  const decoder = new TextDecoder();
  const asJson = invocation.inherited["json"] === true;
  let text = "";
  for (const piece of pieces) {
    const read = decoder.decode(piece, { stream: true });
    if (asJson) text += read;
    else await invocation.io.writeOut(read);
  }
  return asJson ? { json: { turn_id, [name]: text }, text } : exitCodes.done;
}
