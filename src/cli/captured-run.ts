import type { Command, Invocation } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { rootFlags } from "./shared-flags.ts";
import { programVersion } from "./version.ts";

/** What a command line of `svc-mgr` wrote and how it ended. */
interface CapturedRun {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a command line of `svc-mgr` inside this process, with the roots that this one was given. Nobody is at
 * a terminal for it and its standard input is empty, unless `atTerminal`: then it may hand the terminal to
 * another program.
 */
export async function runCaptured(
  { io, inherited }: Invocation,
  commands: Command,
  words: readonly string[],
  { interrupted, atTerminal = false }: { interrupted: AbortSignal; atTerminal?: boolean },
): Promise<CapturedRun> {
  const roots = Object.keys(rootFlags).flatMap((name) =>
    typeof inherited[name] === "string" ? [`--${name}=${inherited[name]}`] : [],
  );
  const written: string[] = [];
  const refused: string[] = [];
  const collect = (into: string[]) => async (text: string | Uint8Array) => void into.push(String(text));
  const exitCode = await runProgram(commands, programVersion, [...roots, ...words], {
    env: io.env,
    cwd: io.cwd,
    home: io.home,
    stdoutIsTty: atTerminal,
    stderrIsTty: false,
    stdinIsTty: atTerminal,
    columns: 80,
    rows: 24,
    writeOut: collect(written),
    writeError: collect(refused),
    writeScreen: (stream, text) => collect(stream === "stdout" ? written : refused)(text),
    readInput: async () => ({ ok: true, text: "" }),
    readLine: async () => null,
    interrupted: () => interrupted,
    unheard: () => interrupted,
    advise: io.advise,
  });
  return { exitCode, stdout: written.join(""), stderr: refused.join("") };
}
