import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWorktrees } from "../../src/services/extensions/team/worktrees.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createScratch } from "../support/scratch.ts";

/**
 * A repository with `attributes` for a.txt and b.bin, whose own configuration nobody checked, and a user's
 * home.
 */
function createRepository(attributes: string) {
  const at = createScratch();
  const [repository, home, root] = [at.path("repository"), at.path("home"), at.path("worktrees")];
  for (const folder of [repository, home, root]) mkdirSync(folder);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, GIT_CONFIG_NOSYSTEM: "1", LANG: "C.UTF-8" };
  const git = (...words: string[]) => {
    const ran = Bun.spawnSync(["git", "-C", repository, ...words], { env });
    expect([words, ran.exitCode, ran.stderr.toString()]).toEqual([words, 0, ""]);
    return ran.stdout.toString().trim();
  };
  git("init", "-q", "-b", "main");
  for (const [key, value] of Object.entries({ "user.name": "t", "user.email": "t@t.test" })) {
    git("config", "--global", key, value);
  }
  writeFileSync(join(repository, "a.txt"), "one\n");
  writeFileSync(join(repository, ".gitattributes"), attributes);
  git("add", "-A");
  git("commit", "-qm", "one");
  const processes = createProcesses({ steps: quietSteps });
  const worktrees = createWorktrees({ files: at.files, processes }, { repository, root, env });
  const ran = at.path("ran");
  return {
    git,
    worktrees,
    repository,
    ran,
    home,
    /** A program of the repository that leaves a trace. */
    program: `touch '${ran}'; cat #`,
    read: (agent: string, name: string) => readFileSync(join(root, agent, name), "utf8"),
    write: (agent: string, name: string, text: string) => writeFileSync(join(root, agent, name), text),
    [Symbol.dispose]: () => at[Symbol.dispose](),
  };
}

type Repository = ReturnType<typeof createRepository>;

describe("making and removing a worktree runs no program of the repository's configuration", () => {
  test.each<{ id: string; attributes?: string; plan: (at: Repository) => void }>([
    { id: "as a smudge filter", plan: ({ git, program }) => git("config", "filter.x.smudge", program) },
    { id: "as a clean filter", plan: ({ git, program }) => git("config", "filter.x.clean", program) },
    { id: "as a filter process", plan: ({ git, program }) => git("config", "filter.x.process", program) },
    {
      id: "as a required filter",
      plan({ git, program }) {
        git("config", "filter.x.smudge", program);
        git("config", "filter.x.clean", program);
        git("config", "filter.x.required", "true");
      },
    },
    {
      id: "in a filter whose name has a =",
      attributes: "*.txt filter=a=b\n",
      plan: ({ git, program }) => git("config", "filter.a=b.smudge", program),
    },
    {
      id: "in a file that the configuration includes",
      plan({ git, program, repository }) {
        git("config", "-f", join(repository, "more"), "filter.x.smudge", program);
        git("config", "include.path", "../more");
      },
    },
    {
      id: "in a file that is included on the agent's branch only",
      plan({ git, program, repository }) {
        git("config", "-f", join(repository, "more"), "filter.x.smudge", program);
        git("config", "-f", join(repository, "more"), "filter.x.clean", program);
        git("config", "includeIf.onbranch:svc/**.path", "../more");
      },
    },
    {
      id: "in a file that is included in linked worktrees only",
      plan({ git, program, repository }) {
        git("config", "-f", join(repository, "more"), "filter.x.smudge", program);
        git("config", "-f", join(repository, "more"), "filter.x.clean", program);
        git("config", `includeIf.gitdir:**/worktrees/**.path`, join(repository, "more"));
      },
    },
    {
      id: "in the configuration of a worktree",
      plan({ git, program }) {
        git("config", "extensions.worktreeConfig", "true");
        git("config", "--worktree", "filter.x.smudge", program);
        git("config", "--worktree", "filter.x.clean", program);
      },
    },
    {
      id: "as a watcher of files",
      plan: ({ git, program }) => git("config", "core.fsmonitor", program),
    },
    {
      id: "as a hook",
      plan({ git, program, repository }) {
        mkdirSync(join(repository, "hooks"));
        for (const name of ["post-checkout", "post-index-change", "reference-transaction"]) {
          writeFileSync(join(repository, "hooks", name), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
        }
        git("config", "core.hooksPath", join(repository, "hooks"));
      },
    },
  ])("$id", async ({ attributes = "*.txt filter=x\n", plan }) => {
    using at = createRepository(attributes);
    plan(at);
    expect(await at.worktrees.make("w")).toBeNull();
    expect([at.read("w", "a.txt"), at.git("branch", "--list", "svc/*")]).toEqual(["one\n", "+ svc/w"]);
    // A file with another time and the same content is compared by its content, through the clean filter.
    at.write("w", "a.txt", "one\n");
    expect(await at.worktrees.remove("w")).toBeNull();
    expect([at.worktrees.exists("w"), existsSync(at.ran)]).toEqual([false, false]);
  });

  test("to fetch an object that is missing", async () => {
    using at = createRepository("");
    const { git, repository, program } = at;
    const object = git("rev-parse", "HEAD:a.txt");
    git("config", "remote.origin.url", repository);
    git("config", "remote.origin.promisor", "true");
    git("config", "remote.origin.uploadpack", program);
    git("config", "core.repositoryFormatVersion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "protocol.file.allow", "always");
    at.git("gc", "-q");
    Bun.spawnSync(["sh", "-c", `rm -rf .git/objects/${object.slice(0, 2)} .git/objects/pack/*`], {
      cwd: repository,
    });
    expect(await at.worktrees.make("w")).not.toBeNull();
    expect([at.worktrees.exists("w"), existsSync(at.ran)]).toEqual([false, false]);
  });
});

describe("filters of the user's own configuration run", () => {
  const upper = { smudge: "tr a-z A-Z", clean: "tr A-Z a-z" };

  test.each<{ id: string; plan: (at: Repository) => void }>([
    { id: "when the repository has none", plan: () => {} },
    {
      id: "when the repository has another program for them",
      plan({ git, program }) {
        git("config", "filter.x.smudge", program);
        git("config", "filter.x.clean", program);
      },
    },
  ])("$id", async ({ plan }) => {
    using at = createRepository("*.txt filter=x\n");
    for (const [name, program] of Object.entries(upper))
      at.git("config", "--global", `filter.x.${name}`, program);
    at.git("config", "--global", "filter.x.required", "true");
    plan(at);
    expect(await at.worktrees.make("w")).toBeNull();
    expect(at.read("w", "a.txt")).toBe("ONE\n");
    at.write("w", "a.txt", "TWO\n");
    expect(await at.worktrees.remove("w")).toContain("modified or untracked files");
    at.write("w", "a.txt", "ONE\n");
    expect(await at.worktrees.remove("w")).toBeNull();
    expect(existsSync(at.ran)).toBe(false);
  });
});

test("a worktree that cannot be filled is taken away again, and is made on its branch the next time", async () => {
  using at = createRepository("*.txt filter=x\n");
  at.git("config", "--global", "filter.x.smudge", "false");
  at.git("config", "--global", "filter.x.required", "true");
  expect(await at.worktrees.make("w")).toContain("smudge filter");
  expect(at.worktrees.exists("w")).toBe(false);
  at.git("config", "--global", "filter.x.smudge", "cat");
  expect(await at.worktrees.make("w")).toBeNull();
  expect(at.read("w", "a.txt")).toBe("one\n");
});

test("a worktree that was added and never filled is none, and is filled the next time", async () => {
  using at = createRepository("");
  const path = at.worktrees.pathOf("w");
  at.git("worktree", "add", "--quiet", "--no-checkout", "-b", "svc/w", path);
  expect([at.worktrees.exists("w"), existsSync(join(path, "a.txt"))]).toEqual([false, false]);
  expect(await at.worktrees.make("w")).toBeNull();
  expect([at.worktrees.exists("w"), at.read("w", "a.txt")]).toEqual([true, "one\n"]);
});

test("a worktree that was filled in part keeps its files, and is made again once it is removed", async () => {
  using at = createRepository("");
  const path = at.worktrees.pathOf("w");
  at.git("worktree", "add", "--quiet", "--no-checkout", "-b", "svc/w", path);
  at.write("w", "a.txt", "mine\n");
  const problem = `it was left half made; when no git works in it, remove it with: git worktree remove -f -f ${path}`;
  expect([await at.worktrees.make("w"), at.read("w", "a.txt")]).toEqual([problem, "mine\n"]);
  rmSync(join(path, "a.txt"));
  writeFileSync(at.git("-C", path, "rev-parse", "--git-path", "index.lock"), "");
  expect(await at.worktrees.make("w")).toBe(problem);
  at.git("worktree", "remove", "-f", "-f", path);
  expect(await at.worktrees.make("w")).toBeNull();
  expect(at.read("w", "a.txt")).toBe("one\n");
});

describe("a worktree whose folder was removed by hand", () => {
  test("is made again, with the commits on its branch", async () => {
    using at = createRepository("");
    const path = at.worktrees.pathOf("w");
    expect(await at.worktrees.make("w")).toBeNull();
    at.write("w", "a.txt", "two\n");
    at.git("-C", path, "commit", "-qam", "two");
    rmSync(path, { recursive: true });
    expect(await at.worktrees.make("w")).toBeNull();
    expect(at.read("w", "a.txt")).toBe("two\n");
  });

  test("is made again in another place when its branch was there", async () => {
    using at = createRepository("");
    const elsewhere = join(at.home, "elsewhere");
    at.git("worktree", "add", "--quiet", "-b", "svc/w", elsewhere);
    const taken = await at.worktrees.make("w");
    expect(taken).toBe(`its branch svc/w is checked out in ${elsewhere}`);
    rmSync(elsewhere, { recursive: true });
    expect(await at.worktrees.make("w")).toBeNull();
  });

  test("and is locked stays so, and the message names the folder", async () => {
    using at = createRepository("");
    const path = at.worktrees.pathOf("w");
    expect(await at.worktrees.make("w")).toBeNull();
    at.git("worktree", "lock", path);
    rmSync(path, { recursive: true });
    expect(await at.worktrees.make("w")).toContain(`${path} is missing, and git does not forget it: `);
  });
});

describe("a worktree is kept with", () => {
  test.each<{ id: string; plan: (at: Repository, path: string) => void; want: string; unsaved?: string }>([
    {
      id: "a file that is not committed",
      plan: (at) => at.write("w", "draft.txt", "draft"),
      want: "1 modified or untracked files",
    },
    {
      id: "commits that no branch has",
      plan(at, path) {
        at.git("-C", path, "checkout", "-q", "--detach");
        at.git("-C", path, "commit", "-q", "--allow-empty", "-m", "lost");
      },
      want: "1 commits on no branch",
      unsaved: "1 commits on no other branch",
    },
    {
      id: "mail",
      plan(at, path) {
        mkdirSync(join(path, ".svc", "mailbox"), { recursive: true });
        writeFileSync(join(path, ".svc", ".gitignore"), "*\n");
        at.write("w", ".svc/mailbox/index.sqlite", "mail");
      },
      want: "a mailbox in its .svc",
    },
  ])("$id", async ({ plan, want, unsaved = want }) => {
    using at = createRepository("");
    const path = at.worktrees.pathOf("w");
    expect(await at.worktrees.make("w")).toBeNull();
    expect(await at.worktrees.unsavedWork("w")).toBeNull();
    plan(at, path);
    expect(await at.worktrees.remove("w")).toBe(`${want}, in ${path}`);
    expect([at.worktrees.list(), existsSync(path)]).toEqual([["w"], true]);
    expect(await at.worktrees.unsavedWork("w")).toBe(unsaved);
  });

  test("commits on its own branch is removed, because the branch stays; they are unsaved work all the same", async () => {
    using at = createRepository("");
    expect(await at.worktrees.make("w")).toBeNull();
    at.git("-C", at.worktrees.pathOf("w"), "commit", "-q", "--allow-empty", "-m", "more");
    expect(await at.worktrees.unsavedWork("w")).toBe("1 commits on no other branch");
    expect(await at.worktrees.remove("w")).toBeNull();
    expect(at.git("log", "-1", "--format=%s", "svc/w")).toBe("more");
  });
});

test("a git that starts svc for another repository changes nothing: its variables do not count", async () => {
  using at = createRepository("");
  using other = createRepository("");
  const env = { PATH: process.env["PATH"], HOME: at.home, GIT_DIR: join(other.repository, ".git") };
  const processes = createProcesses({ steps: quietSteps });
  const scratch = createScratch();
  using _ = scratch;
  const worktrees = createWorktrees(
    { files: scratch.files, processes },
    { repository: at.repository, root: scratch.folder, env },
  );
  expect(await worktrees.make("w")).toBeNull();
  expect([at.git("branch", "--list", "svc/*"), other.git("branch", "--list", "svc/*")]).toEqual([
    "+ svc/w",
    "",
  ]);
});
