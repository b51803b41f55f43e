import { runStep } from "./steps.ts";

// What the commands share that run for long with a seed.

/** Builds the executables, or says why not and ends this process. */
export async function buildFirst(): Promise<void> {
  const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"] });
  if (build.ok) return;
  console.error(`the executables could not be built:\n${build.output}`);
  process.exit(1);
}

/** The number behind `flag`; without the flag `otherwise`. Ends this process with 2 where it is no such number. */
export function numberAfter(
  flag: string,
  otherwise: number,
  kind: "number" | "whole number" = "number",
): number {
  const at = process.argv.indexOf(flag);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  const fits = kind === "number" ? Number.isFinite(value) : Number.isInteger(value);
  if (fits && value >= 0) return value;
  console.error(`${flag} needs a ${kind}`);
  process.exit(2);
}

/** `--seed`, else a new one at each run. */
export const seedFlag = (): number => numberAfter("--seed", Date.now() % 2 ** 31, "whole number");

/** Aborted by Ctrl-C or SIGTERM: the run ends early and judges what it saw. */
export function endedBySignal(): AbortSignal {
  const abort = new AbortController();
  process.on("SIGINT", () => abort.abort()).on("SIGTERM", () => abort.abort());
  return abort.signal;
}
