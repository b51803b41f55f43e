import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shellBlocks } from "../../scripts/documents.ts";
import { findDifferences, runBlocks } from "../support/document-run.ts";

const root = join(import.meta.dir, "..", "..");

/** What README.md asks for, and what every system has. No Bun. */
const programs = ["node", "npm", "npx", "git", "tmux"];
const system = [
  "sh",
  "env",
  "cat",
  "cp",
  "grep",
  "head",
  "ls",
  "mkdir",
  "mktemp",
  "rm",
  "sed",
  "sleep",
  "uname",
];

test("README.md, followed to the letter on a clean clone with an empty home, shows what it says", async () => {
  const folder = mkdtempSync(join(tmpdir(), "me-"));
  const place = (name: string) => join(folder, name);
  for (const name of ["home", "tmp", "tmux", "bin"]) mkdirSync(place(name), { mode: 0o700 });
  for (const name of [...programs, ...system]) {
    const found = Bun.which(name);
    if (found === null) throw new Error(`${name} is needed for this test and is not on PATH`);
    symlinkSync(found, join(place("bin"), name));
  }
  const env = {
    HOME: place("home"),
    TMPDIR: place("tmp"),
    TMUX_TMPDIR: place("tmux"),
    PATH: place("bin"),
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
  };
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { env, stdout: "pipe", stderr: "pipe" });
  try {
    const cloned = git("clone", "--quiet", root, place("svc"));
    expect(cloned.exitCode, cloned.stderr.toString()).toBe(0);
    const blocks = shellBlocks("README.md", readFileSync(join(place("svc"), "README.md"), "utf8"));
    const run = await runBlocks(blocks, { folder, cwd: place("svc"), env });

    expect(run.exitCode, run.transcript.slice(-4000)).toBe(0);
    expect(findDifferences(run)).toEqual([]);
    expect(git("-C", place("svc"), "status", "--porcelain").stdout.toString()).toBe("");
    // The agents are stopped, so their tmux server has gone with the last of them.
    expect(Bun.spawnSync(["tmux", "-N", "list-sessions"], { env }).exitCode).not.toBe(0);
    expect(existsSync(join(place("home"), ".local", "state", "svc", "registry"))).toBe(true);
  } finally {
    Bun.spawnSync(["tmux", "-N", "kill-server"], { env });
    rmSync(folder, { recursive: true, force: true });
  }
}, 900_000);
