import { repositoryRoot } from "./bootstrap.ts";

export interface Step {
  name: string;
  command: string[];
  env?: Record<string, string>;
  /** Starts from an empty environment instead of ours. */
  cleanEnv?: boolean;
  /** Default two minutes. Afterwards the step is ended and has failed. */
  timeoutMs?: number;
  /** Default the root of the repository. */
  cwd?: string;
  /** Shows the output while it comes instead of keeping it. */
  live?: boolean;
}

export interface StepResult {
  name: string;
  ok: boolean;
  /** Null when a signal ended it. */
  exitCode: number | null;
  timedOut: boolean;
  /** Both streams, as they came; empty for a live step. */
  output: string;
  seconds: number;
}

/** Runs one step. Never rejects: a command that cannot be started has failed. */
export async function runStep(step: Step): Promise<StepResult> {
  const started = performance.now();
  const result = (exitCode: number | null, timedOut: boolean, output: string): StepResult => ({
    name: step.name,
    ok: exitCode === 0,
    exitCode,
    timedOut,
    output,
    seconds: (performance.now() - started) / 1000,
  });
  const pipe = step.live ? "inherit" : "pipe";
  let timedOut = false;
  try {
    const child = Bun.spawn(step.command, {
      cwd: step.cwd ?? repositoryRoot,
      stdin: "ignore",
      stdout: pipe,
      stderr: pipe,
      env: { ...(step.cleanEnv ? {} : process.env), ...step.env },
    });
    const stop = () => child.kill("SIGTERM");
    process.on("SIGINT", stop).on("SIGTERM", stop);
    // An interrupt first: most tools then say what they were doing.
    let insist: Timer | undefined;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGINT");
      insist = setTimeout(() => child.kill("SIGKILL"), 5000);
    }, step.timeoutMs ?? 600_000);
    const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
    await child.exited;
    clearTimeout(timer);
    clearTimeout(insist);
    process.off("SIGINT", stop).off("SIGTERM", stop);
    return result(child.exitCode, timedOut, stdout + stderr);
  } catch (error) {
    return result(null, timedOut, String(error));
  }
}

function textOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  return stream ? new Response(stream).text() : Promise.resolve("");
}

/** The command line of a program from node_modules, run by this Bun, so that no other runtime is needed. */
export function tool(name: string, ...args: string[]): string[] {
  return [process.execPath, `node_modules/.bin/${name}`, ...args];
}
