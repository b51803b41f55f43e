import type { CliIo } from "../../src/cli/command-line/command.ts";
import { createTerminalText } from "../../src/cli/command-line/process-io.ts";
import { adviseInManager } from "../../src/cli/command-line/remedies.ts";
import { visible } from "../../src/system/visible.ts";

export interface FakeIo extends CliIo {
  out: string;
  err: string;
}

/**
 * Streams of a command line run in process: what it wrote is in `out` and `err`, at a terminal as that gets
 * it.
 */
export function createFakeIo(given: Partial<CliIo> & { input?: string } = {}): FakeIo {
  const atTerminal = createTerminalText();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const io: FakeIo = {
    out: "",
    err: "",
    env: {},
    cwd: "/",
    home: "/nonexistent",
    stdoutIsTty: false,
    columns: 80,
    rows: 24,
    stderrIsTty: false,
    stdinIsTty: given.input === undefined,
    writeOut: async (text) => {
      io.out += io.stdoutIsTty
        ? atTerminal(text)
        : typeof text === "string"
          ? text
          : decoder.decode(text, { stream: true });
    },
    writeError: async (text) => {
      io.err += io.stderrIsTty ? visible(text) : text;
    },
    writeScreen: async (stream, text) => {
      io[stream === "stdout" ? "out" : "err"] += text;
    },
    readInput: async () => ({ ok: true, text: given.input ?? "" }),
    readLine: async () => given.input?.split("\n")[0] ?? null,
    interrupted: () => new AbortController().signal,
    unheard: () => new AbortController().signal,
    program: "svc-mgr",
    advise: adviseInManager,
    ...given,
  };
  return io;
}
