import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { readArguments, readFolder } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { commitToBake, compilePrograms } from "./executables.ts";
import { type ReleaseTarget, releaseTargets } from "./release-targets.ts";
import { runStep } from "./steps.ts";

const usage = `
Usage: bun run release [FOLDER]

Makes all that a release hands out, in dist/release or FOLDER: one archive of the programs for every machine we build for, the
npm package, the checksums. The same commit, checked out at the same place, gives the same bytes. Needs GNU tar.
`;

const folder = resolve(repositoryRoot, readArguments(usage, readFolder) ?? "dist/release");

await bootstrap({ tmux: false });

const aside = `${folder}-${process.pid}`;
mkdirSync(aside, { recursive: true });
try {
  const commit = await commitToBake();
  if (commit === "" || commit.endsWith("-dirty"))
    console.log(`release: of no commit (${commit || "no git"})`);
  const runtimes = await installRuntimes();
  await run("package", ["npm", "pack", "--silent", `--pack-destination=${aside}`]);
  for (const target of releaseTargets)
    await archive(target, commit, join(runtimes, target.runtime, "bin/bun"));
  writeFileSync(join(aside, "SHA256SUMS"), checksums());
  rmSync(folder, { recursive: true, force: true });
  renameSync(aside, folder);
  for (const name of readdirSync(folder)) console.log(`release: ${join(folder, name)}`);
} finally {
  rmSync(aside, { recursive: true, force: true });
}

/** The Bun of every machine, as bun.lock names it: its hash is checked. Returns the folder of the packages. */
async function installRuntimes(): Promise<string> {
  const cache = join(repositoryRoot, ".cache", "runtimes");
  mkdirSync(cache, { recursive: true });
  for (const file of ["package.json", "bun.lock"])
    copyFileSync(join(repositoryRoot, file), join(cache, file));
  const only = ["--frozen-lockfile", "--production", "--ignore-scripts"];
  await run("runtimes", [process.execPath, "install", ...only, "--os=*", "--cpu=*"], { cwd: cache });
  return join(cache, "node_modules");
}

async function archive(target: ReleaseTarget, commit: string, runtime: string): Promise<void> {
  const name = `svc-${manifest.version}-${target.name}`;
  const staged = join(aside, name);
  mkdirSync(staged);
  const compiled = await compilePrograms(staged, commit, { target: target.bun, runtime });
  if (!compiled) throw new Error(`${target.name}: not built`);
  copyFileSync(join(repositoryRoot, "LICENSE"), join(staged, "LICENSE"));
  copyFileSync(join(repositoryRoot, "dist/npm/THIRD-PARTY-NOTICES"), join(staged, "THIRD-PARTY-NOTICES"));
  const same = [
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mtime=@0",
    "--mode=go=rX,u+rw",
  ];
  await run("archive", ["tar", ...same, "-C", aside, "-czf", join(aside, `${name}.tar.gz`), name]);
  rmSync(staged, { recursive: true });
}

/** As `sha256sum --check` and `shasum --check` read them. */
function checksums(): string {
  return readdirSync(aside)
    .sort()
    .map(
      (name) =>
        `${createHash("sha256")
          .update(readFileSync(join(aside, name)))
          .digest("hex")}  ${name}\n`,
    )
    .join("");
}

async function run(name: string, command: string[], options: { cwd?: string } = {}): Promise<void> {
  const step = await runStep({ name, command, ...options });
  if (!step.ok) throw new Error(`${name}: ${command.join(" ")} failed\n${step.output}`);
}
