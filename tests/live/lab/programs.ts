import { join } from "node:path";
import type { Sandbox } from "./sandbox.ts";

/** The folder of the built programs, which `bun run live` names; without it the source runs. */
const built = process.env["SVC_TEST_PROGRAMS"];

type Program = "svc" | "svc-gateway" | "svc-mgr";

/** What starts one of our programs. */
export const commandOf = (program: Program): string[] =>
  built
    ? [join(built, program)]
    : [process.execPath, join(import.meta.dir, "../../../src/cli", `${program}.ts`)];

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
  runProgram("svc-mgr", box, words, input);

/** The same with `svc`. */
export const runShort = (box: Sandbox, words: readonly string[], input = "") =>
  runProgram("svc", box, words, input);

async function runProgram(
  program: Program,
  box: Sandbox,
  words: readonly string[],
  input: string,
): Promise<ManagerRun> {
  const child = Bun.spawn([...commandOf(program), ...words], {
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
      throw new Error(`${program} ${words.join(" ")}: exit code ${exitCode}\n${stdout}\n${stderr}`);
    }
  };
  return { exitCode, stdout, stderr, json };
}
