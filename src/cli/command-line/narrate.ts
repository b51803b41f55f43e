import type { ConsolaInstance } from "consola";
import { visible } from "../../system/visible.ts";
import type { CliIo } from "./command.ts";
import { takesColour } from "./format.ts";

/**
 * Shows a person at the terminal what takes its time; nothing where nobody looks. Answers never pass here.
 */
export async function narrate(io: CliIo, text: string): Promise<void> {
  if (io.stderrIsTty) await say(io, (speaker) => speaker.start(visible(text)));
}

/** Reports something that needs attention and does not stop the command. Always, on stderr. */
export async function warn(io: CliIo, text: string): Promise<void> {
  await say(io, (speaker) => speaker.warn(visible(text)));
}

/** Loaded only here and only when something is said: it costs more than the rest of a start. */
async function say(io: CliIo, speak: (speaker: ConsolaInstance) => void): Promise<void> {
  const { createConsola, LogLevels } = await import("consola");
  const written: Promise<void>[] = [];
  const write = (text: string) => void written.push(io.writeScreen("stderr", text));
  const stream = { write } as unknown as NodeJS.WriteStream;
  const options = {
    level: LogLevels.info,
    fancy: io.stderrIsTty,
    formatOptions: { date: false, colors: takesColour(io.env, io.stderrIsTty) },
    stdout: stream,
    stderr: stream,
  };
  speak(createConsola(options));
  await Promise.all(written);
}
