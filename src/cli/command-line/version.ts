import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../../package.json" with { type: "json" };
import { createProcesses, type Processes } from "../../system/processes.ts";
import { quietSteps } from "../../system/steps.ts";

/** Put in its place when the executables are built: empty when they were built outside of git. */
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
  return checkoutCommit(sourceRoot(), createProcesses({ steps: quietSteps }));
}

const sourceRoot = () => fileURLToPath(new URL("../../..", import.meta.url));

/** What the programs are made from; a change elsewhere makes no other program. */
const made = ["src", "package.json", "bun.lock"];

/**
 * Seven digits of the commit that is checked out in `folder`, with `-dirty` when what programs are made from
 * differs from it. Null where `folder` is not the top of a git checkout, or git is not there.
 */
export async function checkoutCommit(
  folder: string,
  processes: Pick<Processes, "run">,
): Promise<string | null> {
  const git = (...words: string[]) => processes.run(["git", ...words], { cwd: folder });
  try {
    // The way up to the top comes first: empty here, not so for a copy within another repository.
    const said = await git("rev-parse", "--show-cdup", "--short=7", "HEAD");
    const commit = /^\n([0-9a-f]{7,})\n$/.exec(said.stdout)?.[1];
    if (said.exitCode !== 0 || commit === undefined) return null;
    const changes = await git("status", "--porcelain", "--", ...made);
    return changes.stdout === "" ? commit : `${commit}-dirty`;
  } catch {
    return null;
  }
}

/**
 * Bun reads files of the folder where it is started: `bunfig.toml`, whose `preload` is code, `.env` with its
 * kin, and the `paths` of `tsconfig.json` or `jsconfig.json`, which replace what our own files import. Our
 * commands run in folders of others: from source they start Bun with these flags. The executables are
 * compiled to read none of it.
 */
const isolatedBun = (root: string) => [
  "--config=/dev/null",
  "--no-env-file",
  `--tsconfig-override=${join(root, "tsconfig.json")}`,
];

/**
 * How this very program is started again as `svc-gateway`, whatever the file is called; a fixed subcommand
 * must follow. Compiled, the executable is all of it and `process.execPath` is not an interpreter (an
 * executable that starts itself without a fixed subcommand never ends doing so). Else it is Bun and the entry
 * file.
 */
export function selfCommand(): [string, ...string[]] {
  if (Bun.isStandaloneExecutable) return [process.execPath, "gateway"];
  const entry = fileURLToPath(new URL("../svc-gateway.ts", import.meta.url));
  return [process.execPath, ...isolatedBun(sourceRoot()), entry, "gateway"];
}

/**
 * The folder of the running program, for advice about PATH. An installed package has its names elsewhere than
 * its file: then it is the folder by which it was called.
 */
export function programFolder(): string {
  if (!Bun.isStandaloneExecutable) return dirname(Bun.main);
  return dirname(process.argv0.includes("/") ? resolve(process.argv0) : process.execPath);
}
