import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// This file runs on a fresh clone: it may import nothing that is not built into Bun.

export const repositoryRoot = join(import.meta.dir, "..");

/** The oldest tmux whose control mode can do what we ask of it. */
const oldestTmux = { major: 3, minor: 2 };

/**
 * Makes sure that what a command needs is there: the locked dependencies always, tmux when asked for. Says on
 * stderr what it does and does nothing, silently, when all is there. Ends the process with code 1 and the
 * exact command to type when it cannot help itself. `dependencies`: whether they were there or came only now.
 */
export async function bootstrap(needs: { tmux: boolean }): Promise<{ dependencies: "there" | "installed" }> {
  const dependencies = await installDependencies();
  if (needs.tmux) await installTmux();
  return { dependencies };
}

async function installDependencies(): Promise<"there" | "installed"> {
  const stamp = join(repositoryRoot, "node_modules", ".installed-from");
  const hash = createHash("sha256").update(`${Bun.version} ${process.platform} ${process.arch}`);
  for (const file of ["package.json", "bun.lock"]) hash.update(readFileSync(join(repositoryRoot, file)));
  const wanted = hash.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return "there";
  say("dependencies: installing what bun.lock names");
  if (!(await succeeds([process.execPath, "install", "--frozen-lockfile"]))) {
    giveUp("dependencies: could not be installed; the reason stands above");
  }
  writeFileSync(stamp, wanted);
  return "installed";
}

async function installTmux(): Promise<void> {
  const problem = tmuxProblem();
  if (problem === null) return;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || process.platform !== "linux" || !Bun.which("apt-get")) {
    giveUp(`tmux: ${problem}. Install it with: ${tmuxInstallCommand(isRoot)}`);
  }
  say(`tmux: ${problem}; installing it with apt-get`);
  // A list that cannot be refreshed in part may still name tmux: the install decides.
  const wait = ["-o", "DPkg::Lock::Timeout=120"];
  await succeeds(["apt-get", ...wait, "update"]);
  await succeeds(["apt-get", ...wait, "install", "-y", "--no-install-recommends", "tmux"]);
  const remaining = tmuxProblem();
  if (remaining !== null) giveUp(`tmux: ${remaining}, and apt-get could not change that`);
  say("tmux: installed");
}

/** What is wrong with this machine's tmux, or null. */
function tmuxProblem(): string | null {
  const wanted = `version ${oldestTmux.major}.${oldestTmux.minor} or newer is needed`;
  if (!Bun.which("tmux")) return `not found, ${wanted}`;
  const said = Bun.spawnSync(["tmux", "-V"]).stdout.toString().trim();
  return isTmuxRecent(said) ? null : `"${said}" is too old, ${wanted}`;
}

/**
 * Judges what `tmux -V` says: `tmux 3.3a`, `tmux next-3.6`; a version without a number is a build from
 * source.
 */
export function isTmuxRecent(said: string): boolean {
  const match = /(\d+)\.(\d+)/.exec(said);
  if (!match) return said.startsWith("tmux ");
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > oldestTmux.major || (major === oldestTmux.major && minor >= oldestTmux.minor);
}

function tmuxInstallCommand(isRoot: boolean): string {
  const known: [program: string, command: string][] = [
    ["brew", "brew install tmux"],
    ["apt-get", "apt-get update && apt-get install -y tmux"],
    ["dnf", "dnf install -y tmux"],
    ["pacman", "pacman -S --noconfirm tmux"],
    ["zypper", "zypper install -y tmux"],
    ["apk", "apk add tmux"],
    ["port", "port install tmux"],
  ];
  const [program, command] = known.find(([name]) => Bun.which(name)) ?? ["", "your system's package manager"];
  const needsRoot = !isRoot && program !== "brew" && program !== "";
  return needsRoot ? command.replace(/^|(?<=&& )/g, "sudo ") : command;
}

async function succeeds(command: string[]): Promise<boolean> {
  const child = Bun.spawn(command, {
    cwd: repositoryRoot,
    stdin: "ignore",
    // Progress is for the reader; stdout stays free for what the command itself has to say.
    stdout: 2,
    stderr: "inherit",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  return (await child.exited) === 0;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function giveUp(line: string): never {
  say(line);
  process.exit(1);
}
