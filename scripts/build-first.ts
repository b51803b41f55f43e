import { runStep } from "./steps.ts";

/** Builds the executables, or says why not and ends this process. */
export async function buildFirst(): Promise<void> {
  const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"] });
  if (build.ok) return;
  console.error(`the executables could not be built:\n${build.output}`);
  process.exit(1);
}
