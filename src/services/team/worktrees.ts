import { join } from "node:path";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";

/** The git worktrees of a team's agents. They lie in the user's state folder: a working tree cannot bring its own. */
export interface Worktrees {
  pathOf(agent: string): string;
  exists(agent: string): boolean;
  /** On branch `svc/AGENT`, made from HEAD unless it is there. Null when it was made, else why not. */
  make(agent: string): Promise<string | null>;
  /** Null when it was removed, else why it stays: git removes none with work that is not committed. */
  remove(agent: string): Promise<string | null>;
}

/** Whatever a repository configures, git runs no hook and no watcher of it here. */
const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
const timeoutMs = 120_000;

/** `repository`: a folder of it; `root`: where the worktrees are, each by the name of its agent. */
export function createWorktrees(
  { files, processes }: { files: Pick<Files, "exists" | "contained">; processes: Pick<Processes, "run"> },
  { repository, root }: { repository: string; root: string },
): Worktrees {
  const pathOf = (agent: string) => files.contained(root, agent);

  async function git(...words: string[]): Promise<string | null> {
    try {
      const { exitCode, stderr } = await processes.run(["git", "-C", repository, ...quiet, ...words], {
        timeoutMs,
      });
      if (exitCode === 0) return null;
      return (
        stderr
          .trim()
          .split("\n")
          .at(-1)
          ?.replace(/^fatal: /, "") || "git failed"
      );
    } catch {
      return "git is not installed or not on PATH";
    }
  }

  return {
    pathOf,
    exists: (agent) => files.exists(join(pathOf(agent), ".git")),
    async make(agent) {
      const branch = `svc/${agent}`;
      const known = await git("show-ref", "--verify", "--quiet", `refs/heads/${branch}`);
      return git(
        "worktree",
        "add",
        "--quiet",
        pathOf(agent),
        ...(known === null ? [branch] : ["-b", branch]),
      );
    },
    remove: (agent) => git("worktree", "remove", pathOf(agent)),
  };
}
