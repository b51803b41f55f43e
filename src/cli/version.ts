import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { createProcesses } from "../system/processes.ts";
import { quietSteps } from "../system/steps.ts";
import { checkoutCommit } from "./checkout-commit.ts";

/** Put in its place when the executables and the package are built: empty when they were built outside of git. */
declare const SVC_COMMIT: string | undefined;

/** What `--version --json` shows. */
export interface ProgramVersion {
  version: string;
  /** Of the checkout the program was built from, or runs from; `-dirty` behind it when that was changed. */
  commit: string | null;
  /** The runtime's version. */
  bun: string;
}

/** The one place that knows which version of svc this is. Asks git only when run from source. */
export async function programVersion(): Promise<ProgramVersion> {
  const commit = typeof SVC_COMMIT === "string" ? SVC_COMMIT || null : await sourceCommit();
  return { version: manifest.version, commit, bun: Bun.version };
}

/** `0.1.0 (abc1234)`; outside of git only the version. */
export function versionText({ version, commit }: ProgramVersion): string {
  return commit ? `${version} (${commit})` : version;
}

function sourceCommit(): Promise<string | null> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  return checkoutCommit(root, createProcesses({ steps: quietSteps }));
}
