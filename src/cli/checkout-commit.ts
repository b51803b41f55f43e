import type { Processes } from "../system/processes.ts";

/** What the programs are made from; a change elsewhere makes no other program. */
const made = ["src", "package.json", "bun.lock"];

/**
 * Seven digits of the commit that is checked out in `folder`, with `-dirty` when what programs are made from differs
 * from it. Null where `folder` is not the top of a git checkout, or git is not there.
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
