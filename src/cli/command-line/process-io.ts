import { homedir } from "node:os";
import { isTerminal, readStandardInput } from "../../system/read-input.ts";
import { onReaderGone } from "../../system/signals.ts";
import { visible } from "../../system/visible.ts";
import type { CliIo } from "./command.ts";
import { adviseInManager } from "./remedies.ts";

/**
 * The streams, environment and signals of this process. `process.stdout` and its kin are asked only for what
 * Bun's own streams do not report: the first of them takes 10 ms to make, a quarter of a gateway's start.
 */
export function createProcessIo(): CliIo {
  const out = writerTo(Bun.stdout, "standard output");
  const error = writerTo(Bun.stderr, "standard error");
  const atTerminal = createTerminalText();
  let interruption: AbortSignal | null = null;
  // One for the process: a command that begins after the signal, and one that runs within another, learn of
  // it too.
  const interrupted = () => {
    interruption ??= onInterruption();
    return interruption;
  };
  return {
    env: process.env,
    cwd: process.cwd(),
    home: process.env["HOME"] || homedir(),
    get stdoutIsTty() {
      return isTerminal(1);
    },
    get columns() {
      return process.stdout.columns || 80;
    },
    get rows() {
      return process.stdout.rows || 24;
    },
    get stderrIsTty() {
      return isTerminal(2);
    },
    get stdinIsTty() {
      return isTerminal(0);
    },
    writeOut: (text) => out(isTerminal(1) ? atTerminal(text) : text),
    writeError: (text) => error(isTerminal(2) ? visible(text) : text),
    writeScreen: (stream, text) => (stream === "stdout" ? out(text) : error(text)),
    readInput: (options) => readStandardInput(() => Bun.stdin.stream(), { ...options, isTty: isTerminal(0) }),
    readLine,
    program: "svc-mgr",
    advise: adviseInManager,
    interrupted,
    unheard() {
      const abort = new AbortController();
      onReaderGone(1, () => abort.abort());
      return AbortSignal.any([interrupted(), abort.signal]);
    },
  };
}

/**
 * What of `writeOut` a terminal gets, piece by piece: bytes are UTF-8, a character may end in a later piece.
 */
export function createTerminalText(): (text: string | Uint8Array) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return (text) => visible(typeof text === "string" ? text : decoder.decode(text, { stream: true }));
}

function onInterruption(): AbortSignal {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
  return abort.signal;
}

/** Rejects when the text cannot be written whole, with `EPIPE` for a reader that has gone. */
function writerTo(stream: Bun.BunFile, name: string): (text: string | Uint8Array) => Promise<void> {
  let sink: Bun.FileSink | null = null;
  return async (text) => {
    sink ??= stream.writer();
    try {
      // Either may be the one that fails.
      await Promise.all([sink.write(text), sink.flush()]);
    } catch (error) {
      // The report of the fault names it: no file of ours is full.
      throw Object.assign(error as Error, { path: name });
    }
  };
}

async function readLine(): Promise<string | null> {
  const { createInterface } = await import("node:readline");
  const reader = createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    reader.once("line", (line) => {
      resolve(line);
      reader.close();
    });
    reader.once("close", () => resolve(null));
  });
}
