import { runStep } from "./steps.ts";

// What the commands share that run for long with a seed.

/** Builds the executables, or says why not and ends this process. */
export async function buildFirst(): Promise<void> {
  const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"] });
  if (build.ok) return;
  console.error(`the executables could not be built:\n${build.output}`);
  process.exit(1);
}

/** Aborted by Ctrl-C or SIGTERM: the run ends early and judges what it saw. */
export function endedBySignal(): AbortSignal {
  const abort = new AbortController();
  process.on("SIGINT", () => abort.abort()).on("SIGTERM", () => abort.abort());
  return abort.signal;
}
