import { messageOf } from "../../system/errors.ts";
import type { Processes } from "../../system/processes.ts";
import type { Environment } from "./roots.ts";

/** What `path --version` says; null when it names no version. Never rejects. */
export async function readToolVersion(
  processes: Pick<Processes, "run">,
  { path, env, timeoutMs }: { path: string; env: Environment; timeoutMs: number },
): Promise<{ version: string | null } | { problem: string }> {
  try {
    const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const { stdout, exitCode } = await processes.run([path, "--version"], {
      timeoutMs,
      env: Object.fromEntries(known),
    });
    if (exitCode !== 0) return { problem: `--version ended with ${exitCode ?? "a signal"}` };
    return { version: /\d+\.\d+[^\s,)]*/.exec(stdout)?.[0] ?? null };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** A launch does not wait longer for the version. */
export const launchVersionTimeoutMs = 2000;
