import { basename, resolve } from "node:path";
import type { Sandbox } from "./sandbox.ts";

const managerProgram = resolve(import.meta.dir, "../../../src/cli/svc-mgr.ts");
const shortProgram = resolve(import.meta.dir, "../../../src/cli/svc.ts");

/** One run of `svc-mgr` in a sandbox. */
export interface ManagerRun {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The document on stdout, for `--json`. Throws with both outputs when there is none. */
  json<T = Record<string, unknown>>(): T;
}

/** Runs `svc-mgr` as a person of the sandbox would; `input` is its standard input, by default empty. */
export const runManager = (box: Sandbox, words: readonly string[], input = "") =>
  runProgram(managerProgram, box, words, input);

/** The same with `svc`. */
export const runShort = (box: Sandbox, words: readonly string[], input = "") =>
  runProgram(shortProgram, box, words, input);

async function runProgram(
  program: string,
  box: Sandbox,
  words: readonly string[],
  input: string,
): Promise<ManagerRun> {
  const child = Bun.spawn([process.execPath, program, ...words], {
    cwd: box.work,
    env: box.env,
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const json = <T>() => {
    try {
      return JSON.parse(stdout) as T;
    } catch {
      throw new Error(
        `${basename(program, ".ts")} ${words.join(" ")}: exit code ${exitCode}\n${stdout}\n${stderr}`,
      );
    }
  };
  return { exitCode, stdout, stderr, json };
}
