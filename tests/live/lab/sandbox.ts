import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { InstalledCli } from "./cli-cache.ts";
import { endMarked, type MarkedProcess, processesMarked } from "./processes.ts";
import { type RecipeFacts, recipeOf } from "./recipes.ts";

/** Marks every process of a sandbox. Not a variable of the product: those are kept from agents. */
const sandboxMark = "LAB_SANDBOX_ID";

/**
 * One agent CLI in a world of its own: temporary home with seeds, working folder (a git repository with one
 * file), clean environment, private tmux socket. Disposing ends every process that carries its mark and
 * removes the folder.
 */
export interface Sandbox extends AsyncDisposable {
  id: string;
  root: string;
  home: string;
  work: string;
  /** Everything a process of the sandbox may know; nothing of this machine's environment. */
  env: Record<string, string>;
  /** Absolute path, for `tmux -S` and SVC_TMUX_SOCKET. */
  tmuxSocket: string;
  args: readonly string[];
  /** Runs tmux on the private socket and returns its output. Throws with its complaint when it fails. */
  tmux(...args: string[]): string;
  processes(): MarkedProcess[];
}

/** `settings`: those of the recipe. */
export function createSandbox(
  cli: InstalledCli,
  modelUrl: string,
  settings: Pick<RecipeFacts, "trusted" | "unattended" | "fewSigns">,
): Sandbox {
  const id = randomBytes(6).toString("hex");
  const root = realpathSync(mkdtempSync(join(tmpdir(), `svc-lab-${cli.tool}-`)));
  const home = join(root, "home");
  const work = join(home, "work");
  const temporary = join(root, "tmp");
  const tmuxSocket = join(root, "tmux.sock");
  for (const folder of [work, temporary]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const recipe = recipeOf(cli.tool, { modelUrl, workFolder: work, ...settings });
  const env = {
    PATH: searchPath(cli),
    HOME: home,
    USER: "lab",
    LANG: "C.UTF-8",
    TERM: "tmux-256color",
    COLORTERM: "truecolor",
    SHELL: "/bin/bash",
    TMPDIR: temporary,
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CONFIG_HOME: join(home, ".config"),
    SVC_TMUX_SOCKET: tmuxSocket,
    [sandboxMark]: id,
    // The mark of the whole run, so that `scripts/live.ts` finds what a broken test left.
    ...(process.env["LAB_RUN"] === undefined ? {} : { LAB_RUN: process.env["LAB_RUN"] }),
    ...recipe.env,
  };
  for (const [path, content] of Object.entries({ ...recipe.files, ".tmux.conf": tmuxConfig })) {
    mkdirSync(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(home, path), content, { mode: 0o600 });
  }
  const run = (command: string[]) => runOrThrow(command, work, env);
  writeFileSync(join(work, "README.md"), "# Lab\n");
  run(["git", "init", "-q", "-b", "main"]);
  run(["git", "add", "README.md"]);
  run([
    "git",
    "-c",
    "user.name=lab",
    "-c",
    "user.email=lab@localhost",
    "commit",
    "-q",
    "-m",
    "lab: one file",
  ]);
  return {
    id,
    root,
    home,
    work,
    env,
    tmuxSocket,
    args: recipe.args,
    tmux: (...args) => run(["tmux", "-S", tmuxSocket, ...args]),
    processes: () => processesMarked(sandboxMark, id),
    async [Symbol.asyncDispose]() {
      await endMarked(sandboxMark, id);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** As a person's own configuration: colours as on a modern terminal, and no bar that costs a row. */
const tmuxConfig = `set -g default-terminal tmux-256color
set -ga terminal-overrides ",*:Tc"
set -g history-limit 50000
set -g status off
set -s escape-time 10
`;

/** The tool's own folder first; node and bun from wherever this machine has them. */
function searchPath(cli: InstalledCli): string {
  const interpreters = ["node", "bun", "tmux", "git"].flatMap((name) => {
    const found = Bun.which(name);
    return found ? [dirname(found)] : [];
  });
  return [
    ...new Set([
      cli.binFolder,
      ...(cli.adapterFolder ? [cli.adapterFolder] : []),
      ...interpreters,
      "/usr/local/bin",
      "/usr/bin",
      "/bin",
    ]),
  ].join(":");
}

function runOrThrow(command: string[], cwd: string, env: Record<string, string>): string {
  const done = Bun.spawnSync(command, { cwd, env, stdin: "ignore" });
  if (done.exitCode === 0) return done.stdout.toString();
  throw new Error(`${command.slice(0, 4).join(" ")}: ${done.stderr.toString().trim()}`);
}
