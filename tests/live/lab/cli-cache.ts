import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The agent CLIs of the lab. */
export const labTools = ["claude", "codex", "gemini", "opencode"] as const;
export type LabTool = (typeof labTools)[number];

interface CliPackage {
  name: string;
  version: string;
  /** Further versions that must pass, newest first. */
  also: readonly string[];
  /** The package's own script that puts the platform's binary in place, relative to the package. */
  setup?: string;
  /** What makes it speak ACP where it does not by itself. The CLI that it brings is left out. */
  adapter?: { name: string; version: string; executable: string };
}

/** What the lab proves the product against unless `SVC_LAB_VERSIONS` names another version. */
const cliPackages: Readonly<Record<LabTool, CliPackage>> = {
  claude: {
    name: "@anthropic-ai/claude-code",
    version: "2.1.331",
    also: ["2.1.330", "2.1.197", "2.1.150"],
    setup: "install.cjs",
    adapter: {
      name: "@agentclientprotocol/claude-agent-acp",
      version: "0.101.0",
      executable: "claude-agent-acp",
    },
  },
  codex: {
    name: "@openai/codex",
    version: "0.169.0",
    also: ["0.166.0"],
    adapter: { name: "@agentclientprotocol/codex-acp", version: "2.6.0", executable: "codex-acp" },
  },
  gemini: { name: "@google/gemini-cli", version: "0.61.0", also: ["0.60.0"] },
  opencode: { name: "opencode-ai", version: "1.18.33", also: ["1.18.27"], setup: "postinstall.mjs" },
};

export interface InstalledCli {
  tool: LabTool;
  version: string;
  /** The folder to put on PATH: it holds an executable named like the tool. */
  binFolder: string;
  executable: string;
  /** The same of its ACP adapter; null where it needs none. */
  adapterFolder: string | null;
}

/** `SVC_LAB_CACHE` when set, else `.cache/live` in the repository. Absolute. */
export function cacheRoot(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env["SVC_LAB_CACHE"];
  return chosen ? resolve(chosen) : resolve(import.meta.dir, "../../../.cache/live");
}

/** The npm package of a tool. */
export function packageOf(tool: LabTool): string {
  return cliPackages[tool].name;
}

/** The versions of a tool that must pass: the pinned one first. */
export function namedVersions(tool: LabTool): string[] {
  const { version, also } = cliPackages[tool];
  return [version, ...also];
}

/**
 * The version to run: the one that `SVC_LAB_VERSIONS` names (`claude=2.1.330,codex=0.166.0`), else the pinned
 * one. Throws for a text of another form.
 */
export function versionOf(tool: LabTool, env: Readonly<Record<string, string | undefined>>): string {
  for (const entry of (env["SVC_LAB_VERSIONS"] ?? "").split(",").filter((part) => part !== "")) {
    const [, name, version] = /^(\w+)=(\d[\w.+-]*)$/.exec(entry) ?? [];
    if (name === undefined || version === undefined) {
      throw new Error(`SVC_LAB_VERSIONS: "${entry}" is not TOOL=VERSION`);
    }
    if (name === tool) return version;
  }
  return cliPackages[tool].version;
}

/** One npm package, where it lies in the cache, and what runs after npm. */
interface Installation {
  folder: string;
  name: string;
  version: string;
  executable: string;
  flags: readonly string[];
  setup?: string | undefined;
}

const executableOf = (root: string, { folder, executable }: Installation) =>
  join(root, folder, "node_modules", ".bin", executable);

/**
 * Installs one CLI through npm, at the version of `versionOf` unless another is given, with its ACP adapter, and returns where it
 * lies. A complete installation is returned at once. A new one is made in a folder beside it and renamed when
 * npm has finished, so that an interrupted run leaves no half-made tool; of two runs at once the first to
 * finish wins. `progress` hears of an installation only. Rejects with npm's last words when the installation
 * fails.
 */
export async function installCli(
  root: string,
  tool: LabTool,
  progress: (line: string) => void,
  version = versionOf(tool, process.env),
): Promise<InstalledCli> {
  const { name, setup, adapter } = cliPackages[tool];
  const cli = { folder: `${tool}-${version}`, name, version, executable: tool, flags: [], setup };
  await install(root, cli, progress);
  const executable = executableOf(root, cli);
  let adapterFolder: string | null = null;
  if (adapter) {
    // An adapter brings its own CLI of several hundred megabytes as an optional package.
    const own = {
      ...adapter,
      folder: `${adapter.executable}-${adapter.version}`,
      flags: ["--omit=optional"],
    };
    await install(root, own, progress);
    adapterFolder = dirname(executableOf(root, own));
  }
  return { tool, version, binFolder: dirname(executable), executable, adapterFolder };
}

async function install(root: string, wanted: Installation, progress: (line: string) => void): Promise<void> {
  const { folder, name, version, flags, setup } = wanted;
  const executable = executableOf(root, wanted);
  if (existsSync(executable)) return;
  mkdirSync(root, { recursive: true });
  removeAbandoned(root, wanted.executable);
  const started = performance.now();
  progress(`${wanted.executable} ${version}: installing ${name}@${version} with npm`);
  const temporary = join(root, `.${folder}.${process.pid}`);
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary);
  try {
    const manifest = { name: `lab-${wanted.executable}`, private: true, dependencies: { [name]: version } };
    writeFileSync(join(temporary, "package.json"), JSON.stringify(manifest));
    await runStep(temporary, [...npmInstall, ...flags]);
    // It starts the tool once, which then makes folders in the home that it sees.
    const alone = { PATH: process.env["PATH"] ?? "", HOME: temporary };
    if (setup) await runStep(join(temporary, "node_modules", name), ["node", setup], alone);
    publish(temporary, join(root, folder), executable);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  progress(`${wanted.executable} ${version}: installed in ${seconds} s`);
}

/** No script of any dependency runs by itself; what a tool needs is its `setup`. */
const npmInstall = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

async function runStep(
  cwd: string,
  command: readonly string[],
  env: Record<string, string | undefined> = process.env,
): Promise<void> {
  const child = Bun.spawn([...command], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return;
  throw new Error(`${command.join(" ")} failed:\n${`${said}\n${complained}`.trim().slice(-2000)}`);
}

function publish(temporary: string, target: string, executable: string): void {
  try {
    renameSync(temporary, target);
  } catch (error) {
    // Another run published the same version first; anything else in the way is a half-removed installation.
    if (existsSync(executable)) return;
    if (!existsSync(target)) throw error;
    rmSync(target, { recursive: true, force: true });
    renameSync(temporary, target);
  }
}

/** Removes what an interrupted run left, but not the folder of a run that still lives. */
function removeAbandoned(root: string, tool: string): void {
  for (const name of readdirSync(root)) {
    const pid = new RegExp(`^\\.${tool}-.*\\.(\\d+)$`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(root, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
