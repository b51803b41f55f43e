import { resolve } from "node:path";
import type { Sandbox } from "./sandbox.ts";

const managerProgram = resolve(import.meta.dir, "../../../src/cli/svc-mgr.ts");

/** One run of `svc-mgr` in a sandbox. */
export interface ManagerRun {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The document on stdout, for `--json`. Throws with both outputs when there is none. */
  json<T = Record<string, unknown>>(): T;
}

/** Runs `svc-mgr` as a person of the sandbox would; `input` is its standard input, by default empty. */
export async function runManager(box: Sandbox, words: readonly string[], input = ""): Promise<ManagerRun> {
  const child = Bun.spawn([process.execPath, managerProgram, ...words], {
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
      throw new Error(`svc-mgr ${words.join(" ")}: exit code ${exitCode}\n${stdout}\n${stderr}`);
    }
  };
  return { exitCode, stdout, stderr, json };
}
