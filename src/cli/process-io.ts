import { homedir } from "node:os";
import { createInterface } from "node:readline";
import type { CliIo } from "./command.ts";

/** The streams, environment and signals of this process. */
export function createProcessIo(): CliIo {
  return {
    env: process.env,
    cwd: process.cwd(),
    home: process.env["HOME"] || homedir(),
    stdoutIsTty: process.stdout.isTTY === true,
    get columns() {
      return process.stdout.columns || 80;
    },
    get rows() {
      return process.stdout.rows || 24;
    },
    stderrIsTty: process.stderr.isTTY === true,
    stdinIsTty: process.stdin.isTTY === true,
    writeOut: (text) => write(process.stdout, text),
    writeError: (text) => write(process.stderr, text),
    readInput: () => new Response(Bun.stdin.stream()).text(),
    readLine,
    interrupted() {
      const abort = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
      return abort.signal;
    },
  };
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // A reader that has gone is an event as well as a failed write; unheard, the event ends the process.
    stream.once("error", reject);
    stream.write(text, (error) => {
      stream.off("error", reject);
      if (error) reject(error);
      else resolve();
    });
  });
}

function readLine(): Promise<string | null> {
  const reader = createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    reader.once("line", (line) => {
      resolve(line);
      reader.close();
    });
    reader.once("close", () => resolve(null));
  });
}
