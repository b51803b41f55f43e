import type { Advise } from "../../protocol/remedy.ts";
import type { CliIo } from "../command-line/command.ts";
import { describeFailure } from "../command-line/dispatch.ts";

/** What an operation came to, for a caller that goes on after a refusal. */
export type Outcome<T> = { ok: true; value: T } | Refusal;

interface Refusal {
  ok: false;
  /** Of the command that does the same. */
  exitCode: number;
  /** In the terms of the program. */
  detail: string;
  /** As `--json` has it. */
  document: object;
}

/** Never rejects. */
export async function outcomeOf<T>(operation: () => Promise<T>, advise: Advise): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await operation() };
  } catch (error) {
    const { exitCode, document, detail } = describeFailure(error, advise);
    return { ok: false, exitCode, detail, document: document as object };
  }
}

/** The process without a terminal and without output: warnings and progress of an operation are dropped. */
export function withoutTerminal(io: CliIo, changes: Partial<CliIo> = {}): CliIo {
  // Field by field: the fields of a wrapped process are its prototype's.
  return {
    env: io.env,
    cwd: io.cwd,
    home: io.home,
    interrupted: () => io.interrupted(),
    unheard: () => io.unheard(),
    program: io.program,
    advise: io.advise,
    columns: 80,
    rows: 24,
    stdoutIsTty: false,
    stderrIsTty: false,
    stdinIsTty: false,
    writeOut: async () => {},
    writeError: async () => {},
    writeScreen: async () => {},
    readInput: async () => ({ ok: true, text: "" }),
    readLine: async () => null,
    ...changes,
  };
}
