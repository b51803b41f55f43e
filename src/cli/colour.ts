import type { CliIo, Paint } from "./command.ts";

const codes = { red: 31, green: 32, yellow: 33, bold: 1 } as const;

/**
 * Whether a stream takes colours: a terminal does, unless NO_COLOR is set to anything or the terminal is a dumb one.
 * FORCE_COLOR (but 0 and false) says yes where no terminal is. NO_COLOR wins. Pure. Source: no-color.org, force-color.org.
 */
export function takesColour(env: CliIo["env"], isTerminal: boolean): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return isTerminal && env["TERM"] !== "dumb";
}

/** For what is written to the stream of the command line. */
export function painterFor(io: CliIo, stream: "stdout" | "stderr"): Paint {
  const isTerminal = stream === "stdout" ? io.stdoutIsTty : io.stderrIsTty;
  if (!takesColour(io.env, isTerminal)) return (_colour, text) => text;
  return (colour, text) => `\x1b[${codes[colour]}m${text}\x1b[0m`;
}
