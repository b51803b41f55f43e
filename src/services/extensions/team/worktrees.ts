import { isAbsolute, join } from "node:path";
import { childPath, isOneName } from "../../../system/contained-path.ts";
import type { Files } from "../../../system/files.ts";
import type { Processes } from "../../../system/processes.ts";
import { shellWord } from "../../../system/shell-word.ts";
import { visibleLine } from "../../../system/visible.ts";
import type { Environment } from "../../sessions/roots.ts";
import { tookFromEnvironment, withoutForeignPrograms } from "./foreign-programs.ts";

/**
 * The git worktrees of a team's agents. They lie in a folder of the user's: a working tree cannot bring its
 * own.
 */
export type Worktrees = ReturnType<typeof createWorktrees>;

/** Whatever a repository configures, git runs no hook and no watcher of it here. */
const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
const timeoutMs = 120_000;

/** Variables with which a caller of ours, such as a git hook, means another repository. */
const ofAnotherRepository = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_COMMON_DIR",
  "GIT_NAMESPACE",
  "GIT_PREFIX",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  // Tokens of ours are for no program that git starts.
  "SVC_GATEWAY_TOKEN",
  "SVC_COORD_TOKEN",
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

/** The line that says what failed; lines after it are advice or a list. Pure. */
function problemOf(stderr: string): string {
  const lines = stderr.trim().split("\n");
  const first = (kind: string) => lines.find((one) => one.startsWith(`${kind}: `));
  const line = first("fatal") ?? first("error") ?? lines.at(-1) ?? "";
  return visibleLine(line.replace(/^(?:fatal|error): /, ""));
}

interface ListedWorktree {
  path: string;
  /** As `refs/heads/NAME`; null for one that is on none. */
  branch: string | null;
}

/** `text`: the output of `git worktree list --porcelain -z`. Pure. */
function parseWorktrees(text: string): ListedWorktree[] {
  return text.split("\0\0").flatMap((entry): ListedWorktree[] => {
    const read = (key: string) =>
      entry
        .split("\0")
        .find((line) => line.startsWith(`${key} `))
        ?.slice(key.length + 1);
    const path = read("worktree");
    return path === undefined ? [] : [{ path, branch: read("branch") ?? null }];
  });
}

type Ran = { ok: true; stdout: string } | { ok: false; problem: string };

/**
 * `repository`: a folder of it; `root`: where the worktrees are, each by the name of its agent. `formerRoot`:
 * where an earlier version made them; one that is there stays there. `env`: the user's. No command runs a
 * program that the repository's configuration names, nor asks a server for objects that are missing: the
 * address of that server is the repository's too. Filters of the user's own configuration run.
 */
export function createWorktrees(
  {
    files,
    processes,
  }: {
    files: Pick<Files, "exists" | "contained" | "isOwnFolder" | "list" | "read">;
    processes: Pick<Processes, "run">;
  },
  {
    repository,
    root,
    formerRoot,
    env,
  }: { repository: string; root: string; formerRoot?: string; env: Environment },
) {
  const folders = [root, ...(formerRoot === undefined ? [] : [formerRoot])];
  const isAdded = (path: string) => files.exists(join(path, ".git"));

  function pathOf(agent: string): string {
    const former = formerRoot === undefined ? null : files.contained(formerRoot, agent);
    return former !== null && isAdded(former) ? former : files.contained(root, agent);
  }
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ofAnotherRepository.includes(entry[0]),
  );
  const environment = {
    ...Object.fromEntries(own),
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
  };

  async function run(words: readonly string[], settings: readonly Setting[]): Promise<Ran> {
    try {
      const { exitCode, stdout, stderr } = await processes.run(["git", ...quiet, ...words], {
        timeoutMs,
        env: withSettings(environment, settings),
      });
      if (exitCode === 0) return { ok: true, stdout };
      const problem = problemOf(stderr);
      return { ok: false, problem: problem === "" ? "git failed" : problem };
    } catch {
      return { ok: false, problem: "git is not installed or not on PATH" };
    }
  }

  /**
   * By the configuration that counts in `folder`: a repository can include some of it in one worktree only.
   */
  async function ask(folder: string, ...words: string[]): Promise<Ran> {
    const list = ["-C", folder, "config", "--list", "--show-scope", "--includes", "-z"];
    const listed = await run(list, [marker]);
    if (!listed.ok) return listed;
    if (!tookFromEnvironment(listed.stdout, marker.key))
      return { ok: false, problem: "worktrees need git 2.31 or newer" };
    return run(["-C", folder, ...words], withoutForeignPrograms(listed.stdout));
  }

  /** Null when it was done, else why not. */
  async function git(folder: string, ...words: string[]): Promise<string | null> {
    const done = await ask(folder, ...words);
    return done.ok ? null : done.problem;
  }

  /**
   * Where git keeps the index of the worktree at `path`; null where the worktree does not say it as a whole
   * path.
   */
  function gitFolder(path: string): string | null {
    try {
      const folder = /^gitdir: (.+)$/m.exec(files.read(join(path, ".git"), { owner: "anyone" }) ?? "")?.[1];
      return folder !== undefined && isAbsolute(folder) ? folder : null;
    } catch {
      return null;
    }
  }

  function isFilled(path: string): boolean {
    const folder = gitFolder(path);
    return folder === null || files.exists(join(folder, "index"));
  }

  const fill = (path: string) => git(path, "reset", "--hard", "--quiet", "--no-recurse-submodules");

  /**
   * Git forgets the worktree of the path and the one on the branch when their folders are gone: somebody
   * removed them by hand. Returns why the branch cannot be used, or null.
   */
  async function forgetMissing(path: string, branch: string): Promise<string | null> {
    const listed = await ask(repository, "worktree", "list", "--porcelain", "-z");
    // An older git has no -z: what it cannot do shows when the worktree is added.
    if (!listed.ok) return null;
    for (const one of parseWorktrees(listed.stdout)) {
      if (one.path !== path && one.branch !== `refs/heads/${branch}`) continue;
      if (files.exists(one.path)) {
        if (one.path === path) continue;
        return `its branch ${branch} is checked out in ${visibleLine(one.path)}`;
      }
      const forgotten = await git(repository, "worktree", "remove", one.path);
      if (forgotten !== null)
        return `${visibleLine(one.path)} is missing, and git does not forget it: ${forgotten}`;
    }
    return null;
  }

  /**
   * What no branch but `svc/AGENT` has; with `anyBranch` what no branch has at all. Null without such work.
   */
  async function lostWith(agent: string, { anyBranch }: { anyBranch: boolean }): Promise<string | null> {
    const path = pathOf(agent);
    const changed = await ask(path, "status", "--porcelain", "--untracked-files=all");
    if (!changed.ok) return `it cannot be read: ${changed.problem}`;
    const count = changed.stdout.split("\n").filter((line) => line !== "").length;
    const own = anyBranch ? [] : [`--exclude=svc/${agent}`];
    const ahead = await ask(
      path,
      "rev-list",
      "--count",
      "HEAD",
      "--not",
      ...own,
      "--branches",
      "--remotes",
      "--tags",
    );
    if (!ahead.ok) return `its commits cannot be read: ${ahead.problem}`;
    const commits = Number(ahead.stdout.trim());
    // Git ignores these folders, and would remove them with the rest.
    const ours = [
      ...(files.exists(join(path, ".svc", "mailbox")) ? ["a mailbox in its .svc"] : []),
      ...(files.exists(join(path, ".svc", "runtime")) ? ["sessions in its .svc"] : []),
    ];
    const lost = [
      ...(count > 0 ? [`${count} modified or untracked files`] : []),
      ...(commits > 0 ? [`${commits} commits on no ${anyBranch ? "" : "other "}branch`] : []),
      ...ours,
    ];
    return lost.length === 0 ? null : lost.join(", ");
  }

  return {
    pathOf,
    /** The agents whose worktrees are there, whole or not. */
    list: (): string[] =>
      folders
        .flatMap((folder) => files.list(folder))
        .filter((name) => isOneName(name) && isAdded(pathOf(name))),
    /** What lies beside them: files, links, and folders that are not empty and no worktree of git. */
    listOthers: (): string[] =>
      folders
        .flatMap((folder) => pathsIn(files, folder))
        .filter((path) => !isAdded(path) && !(files.isOwnFolder(path) && files.list(path).length === 0)),
    /** What of it is nowhere else, commits that only its own branch has included; null without such work. */
    unsavedWork: (agent: string): Promise<string | null> => lostWith(agent, { anyBranch: false }),
    /** Whether it is there and filled: git writes the index last. */
    exists: (agent: string): boolean => isAdded(pathOf(agent)) && isFilled(pathOf(agent)),
    /**
     * On branch `svc/AGENT`, made from HEAD unless it is there. One that was added and has nothing yet is
     * filled; one whose folder was removed by hand is made again. Null when it was made, else why not.
     */
    async make(agent: string): Promise<string | null> {
      const branch = `svc/${agent}`;
      const path = pathOf(agent);
      if (isAdded(path) && !isFilled(path)) {
        const isLocked = files.exists(join(gitFolder(path) ?? path, "index.lock"));
        const isUntouched = files.list(path).length === 1 && !isLocked;
        // Nobody knows whose files there are.
        return isUntouched ? fill(path) : halfMade(path);
      }
      const hindrance = await forgetMissing(path, branch);
      if (hindrance !== null) return hindrance;
      const known = await git(repository, "show-ref", "--verify", "--quiet", `refs/heads/${branch}`);
      const on = known === null ? [path, branch] : [path, "-b", branch];
      const added = await git(repository, "worktree", "add", "--quiet", "--no-checkout", ...on);
      if (added !== null) return `the worktree ${visibleLine(path)}: ${added}`;
      const filled = await fill(path);
      if (filled !== null) await git(repository, "worktree", "remove", "--force", path);
      return filled;
    },
    /**
     * Null when it was removed, else why it stays: work that is not committed, commits on no branch, or a
     * `.svc` with mail; with `discard` only what git says.
     */
    async remove(agent: string, { discard = false } = {}): Promise<string | null> {
      const path = pathOf(agent);
      if (discard) return git(path, "worktree", "remove", "--force", path);
      const lost = await lostWith(agent, { anyBranch: true });
      if (lost !== null) return `${lost}, in ${visibleLine(path)}`;
      // Its check for work that is not committed runs in the worktree, where other configuration may count.
      return git(path, "worktree", "remove", path);
    },
  };
}

/** The entries of a folder; the folder itself for a name that cannot be shown. */
export function pathsIn(files: Pick<Files, "list">, folder: string): string[] {
  return files.list(folder).map((name) => (isOneName(name) ? childPath(folder, name) : folder));
}
