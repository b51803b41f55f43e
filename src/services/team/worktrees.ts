import { isAbsolute, join } from "node:path";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { visibleLine } from "../../system/visible.ts";
import type { Environment } from "../sessions/roots.ts";
import { shellWord } from "../terminal/shell-word.ts";
import { tookFromEnvironment, withoutForeignPrograms } from "./foreign-programs.ts";

/** The git worktrees of a team's agents. They lie in the user's state folder: a working tree cannot bring its own. */
export interface Worktrees {
  pathOf(agent: string): string;
  /** Whether it is there and filled: git writes the index last. */
  exists(agent: string): boolean;
  /**
   * On branch `svc/AGENT`, made from HEAD unless it is there. One that was added and has nothing yet is filled. Null when it
   * was made, else why not.
   */
  make(agent: string): Promise<string | null>;
  /** Null when it was removed, else why it stays: git removes none with work that is not committed. */
  remove(agent: string): Promise<string | null>;
}

/** Whatever a repository configures, git runs no hook and no watcher of it here. */
const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
const timeoutMs = 120_000;

/** Variables with which a caller of ours, such as a git hook, means another repository. */
const ofAnotherRepository = [
  ...["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"],
  ...["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"],
  // Tokens of ours are for no program that git starts.
  ...["SVC_GATEWAY_TOKEN", "SVC_COORD_TOKEN"],
];

interface Setting {
  key: string;
  value: string;
}

/** Without an effect: only a git that knows it there takes settings from its environment. */
const marker: Setting = { key: "svc.marker", value: "1" };

/** In the environment and not as arguments: a value may be a login, and a name may have a `=`. */
function withSettings(env: Readonly<Record<string, string>>, settings: readonly Setting[]) {
  const before = Number(env["GIT_CONFIG_COUNT"] ?? 0) || 0;
  const given = settings.flatMap(({ key, value }, index): [string, string][] => [
    [`GIT_CONFIG_KEY_${before + index}`, key],
    [`GIT_CONFIG_VALUE_${before + index}`, value],
  ]);
  return { ...env, ...Object.fromEntries(given), GIT_CONFIG_COUNT: String(before + settings.length) };
}

const halfMade = (path: string) =>
  `it was left half made; when no git works in it, remove it with: git worktree remove -f -f ${shellWord(path)}`;

type Ran = { ok: true; stdout: string } | { ok: false; problem: string };

/**
 * `repository`: a folder of it; `root`: where the worktrees are, each by the name of its agent. `env`: the user's. No
 * command runs a program that the repository's configuration names, nor asks a server for objects that are missing:
 * the address of that server is the repository's too. Filters of the user's own configuration run.
 */
export function createWorktrees(
  {
    files,
    processes,
  }: { files: Pick<Files, "exists" | "contained" | "list" | "read">; processes: Pick<Processes, "run"> },
  { repository, root, env }: { repository: string; root: string; env: Environment },
): Worktrees {
  const pathOf = (agent: string) => files.contained(root, agent);
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ofAnotherRepository.includes(entry[0]),
  );
  const environment = {
    ...Object.fromEntries(own),
    ...{ GIT_ALLOW_PROTOCOL: "none", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0" },
  };

  async function run(words: readonly string[], settings: readonly Setting[]): Promise<Ran> {
    try {
      const { exitCode, stdout, stderr } = await processes.run(["git", ...quiet, ...words], {
        ...{ timeoutMs, env: withSettings(environment, settings) },
      });
      if (exitCode === 0) return { ok: true, stdout };
      const last = stderr.trim().split("\n").at(-1) ?? "";
      return { ok: false, problem: visibleLine(last.replace(/^fatal: /, "")) || "git failed" };
    } catch {
      return { ok: false, problem: "git is not installed or not on PATH" };
    }
  }

  /** By the configuration that counts in `folder`: a repository can include some of it in one worktree only. */
  async function git(folder: string, ...words: string[]): Promise<string | null> {
    const list = ["-C", folder, "config", "--list", "--show-scope", "--includes", "-z"];
    const listed = await run(list, [marker]);
    if (!listed.ok) return listed.problem;
    if (!tookFromEnvironment(listed.stdout, marker.key)) return "worktrees need git 2.31 or newer";
    const done = await run(["-C", folder, ...words], withoutForeignPrograms(listed.stdout));
    return done.ok ? null : done.problem;
  }

  /** Where git keeps the index of the worktree at `path`; null where the worktree does not say it as a whole path. */
  function gitFolder(path: string): string | null {
    try {
      const folder = /^gitdir: (.+)$/m.exec(files.read(join(path, ".git")) ?? "")?.[1];
      return folder !== undefined && isAbsolute(folder) ? folder : null;
    } catch {
      return null;
    }
  }

  const isAdded = (path: string) => files.exists(join(path, ".git"));

  function isFilled(path: string): boolean {
    const folder = gitFolder(path);
    return folder === null || files.exists(join(folder, "index"));
  }

  const fill = (path: string) => git(path, "reset", "--hard", "--quiet", "--no-recurse-submodules");

  return {
    pathOf,
    exists: (agent) => isAdded(pathOf(agent)) && isFilled(pathOf(agent)),
    async make(agent) {
      const branch = `svc/${agent}`;
      const path = pathOf(agent);
      if (isAdded(path) && !isFilled(path)) {
        const isLocked = files.exists(join(gitFolder(path) ?? path, "index.lock"));
        const isUntouched = files.list(path).length === 1 && !isLocked;
        // Nobody knows whose files there are.
        return isUntouched ? fill(path) : halfMade(path);
      }
      const known = await git(repository, "show-ref", "--verify", "--quiet", `refs/heads/${branch}`);
      const on = known === null ? [path, branch] : [path, "-b", branch];
      const added = await git(repository, "worktree", "add", "--quiet", "--no-checkout", ...on);
      if (added !== null) return added;
      const filled = await fill(path);
      if (filled !== null) await git(repository, "worktree", "remove", "--force", path);
      return filled;
    },
    async remove(agent) {
      const path = pathOf(agent);
      // Its check for work that is not committed runs in the worktree, where other configuration may count.
      return git(path, "worktree", "remove", path);
    },
  };
}
