import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkoutCommit } from "../src/cli/command-line/version.ts";
import { createProcesses } from "../src/system/processes.ts";
import { quietSteps } from "../src/system/steps.ts";
import { repositoryRoot } from "./bootstrap.ts";
import { browserPages, buildBrowserPages } from "./console-assets.ts";
import { noticesOf, partsOf, sbomOf } from "./notices.ts";
import { packNewQueue } from "./pack-queue.ts";
import { packRecordings } from "./pack-recordings.ts";
import { runStep } from "./steps.ts";

/**
 * One file of 130 MB is all programs; it goes by the name it is called. Each name is a file, so that it can
 * be copied alone.
 */
export const executable = "svc-gateway";
const otherNames = ["svc-mgr", "svc-coord", "svc"];

export const programNames = [executable, ...otherNames];

/** What others made of the executable: their licences, and the same as a CycloneDX document. */
export const accounts = ["THIRD-PARTY-NOTICES", "sbom.cdx.json"] as const;

/** Another machine than this one. */
export interface Target {
  /** Bun's word for it. */
  target: string;
  /** The Bun of that machine, which becomes part of what is built. */
  runtime: string;
}

/** The commit that is baked into what is built; empty outside of git. */
export async function commitToBake(): Promise<string> {
  return (await checkoutCommit(repositoryRoot, createProcesses({ steps: quietSteps }))) ?? "";
}

function definitions(commit: string): string[] {
  return [
    "--define",
    `SVC_COMMIT=${JSON.stringify(commit)}`,
    "--define",
    `SVC_RECORDINGS=${JSON.stringify(packRecordings())}`,
    "--define",
    `SVC_NEW_QUEUE=${JSON.stringify(packNewQueue())}`,
    // Elysia asks for a collection whenever it has composed an app: 3 to 5 ms of a gateway's start, while
    // callers wait. Nothing of ours calls this name, so the call becomes one that does nothing.
    "--define",
    "Bun.gc=Boolean",
  ];
}

/**
 * Compiles the programs into `folder`, with the accounts of what is in them: for this machine, or for
 * `target`. They are built aside and renamed into place, so that half of one never runs. Says what it does;
 * false when it could not be built.
 */
export async function compilePrograms(folder: string, commit: string, target?: Target): Promise<boolean> {
  const aside = join(folder, `.aside-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    const { inputs: ofPages } = await buildBrowserPages();
    const metafile = join(aside, "meta.json");
    const command = compileCommand(join(aside, executable), { commit, target, metafile });
    const built = await runStep({ name: executable, command });
    if (!built.ok) {
      console.error(`build: ${executable} failed\n${built.output}`);
      return false;
    }
    for (const name of otherNames) linkSync(join(aside, executable), join(aside, name));
    const { inputs } = JSON.parse(readFileSync(metafile, "utf8")) as { inputs: object };
    const parts = partsOf([...Object.keys(inputs), ...ofPages]);
    writeFileSync(join(aside, "THIRD-PARTY-NOTICES"), noticesOf(parts));
    writeFileSync(join(aside, "sbom.cdx.json"), await sbomOf(parts));
    for (const name of [...programNames, ...accounts]) renameSync(join(aside, name), join(folder, name));
    console.log(`build: ${target?.target ?? "this machine"} in ${built.seconds.toFixed(1)} s`);
    return true;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function compileCommand(
  outfile: string,
  options: { commit: string; target: Target | undefined; metafile: string },
): string[] {
  const { commit, target, metafile } = options;
  return [
    process.execPath,
    "build",
    "--compile",
    "--production",
    "--minify",
    "--sourcemap",
    "--bytecode",
    "--format=esm",
    // What a command does not import is not read: 6 ms less to the first answer of a gateway.
    "--splitting",
    // Nothing of the folder where it is started changes what it runs.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    "--no-compile-autoload-tsconfig",
    "--no-compile-autoload-package-json",
    `--metafile=${metafile}`,
    ...browserPages.map(({ archive }) => `--asset=${archive}`),
    ...(target === undefined
      ? []
      : [`--target=${target.target}`, `--compile-executable-path=${target.runtime}`]),
    ...definitions(commit),
    `src/cli/${executable}.ts`,
    `--outfile=${outfile}`,
  ];
}
