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
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { readArguments, text } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { commitToBake, compilePrograms } from "./executables.ts";
import { packPackage } from "./npm-package.ts";
import { type ReleaseTarget, releaseTargets } from "./release-targets.ts";
import { signFile } from "./sign-release.ts";
import { runStep } from "./steps.ts";

const usage = `
Usage: bun run release [--key FILE] [--signers FILE] [FOLDER]

Makes all that a release hands out, in dist/release or FOLDER: for every machine that we build for an archive of the programs and
an npm package, the checksums, and their signature. The same commit, checked out at the same place, gives the same bytes. Needs
GNU tar and npm; with a key also ssh-keygen.

  --key FILE      the private SSH key that signs the checksums; without it the release is not signed
  --signers FILE  the public keys of which it must be one (default scripts/release-signers)
`;

const { key, signers, folder } = readArguments(usage, (words) => {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { key: text, signers: text },
  });
  if (positionals.length > 1) throw new Error(`one folder, not ${positionals.join(" and ")}`);
  return {
    key: values.key === undefined ? null : resolve(values.key),
    signers: resolve(values.signers ?? join(repositoryRoot, "scripts/release-signers")),
    folder: resolve(repositoryRoot, positionals[0] ?? "dist/release"),
  };
});

await bootstrap({ tmux: false });

const aside = `${folder}-${process.pid}`;
mkdirSync(aside, { recursive: true });
try {
  const commit = await commitToBake();
  if (commit === "" || commit.endsWith("-dirty"))
    console.log(`release: of no commit (${commit || "no git"})`);
  const runtimes = await installRuntimes();
  for (const target of releaseTargets)
    await makeFor(target, commit, join(runtimes, target.runtime, "bin/bun"));
  const sums = join(aside, `svc-${manifest.version}.sha256`);
  writeFileSync(sums, checksums());
  if (key === null) console.log("release: not signed: --key names no key");
  else await signFile(sums, { key, signers });
  rmSync(folder, { recursive: true, force: true });
  renameSync(aside, folder);
  for (const name of readdirSync(folder)) console.log(`release: ${join(folder, name)}`);
} finally {
  rmSync(aside, { recursive: true, force: true });
}

/**
 * The Bun of every machine, as bun.lock names it: its hash is checked. Returns the folder of the packages.
 */
async function installRuntimes(): Promise<string> {
  const cache = join(repositoryRoot, ".cache", "runtimes");
  mkdirSync(cache, { recursive: true });
  for (const file of ["package.json", "bun.lock"])
    copyFileSync(join(repositoryRoot, file), join(cache, file));
  const only = ["--frozen-lockfile", "--production", "--ignore-scripts"];
  await run("runtimes", [process.execPath, "install", ...only, "--os=*", "--cpu=*"], { cwd: cache });
  return join(cache, "node_modules");
}

/** The archive and the npm package of one machine. */
async function makeFor(target: ReleaseTarget, commit: string, runtime: string): Promise<void> {
  const name = `svc-${manifest.version}-${target.name}`;
  const staged = join(aside, name);
  mkdirSync(staged);
  const compiled = await compilePrograms(staged, commit, { target: target.bun, runtime });
  if (!compiled) throw new Error(`${target.name}: not built`);
  await packPackage(target, staged, aside);
  copyFileSync(join(repositoryRoot, "LICENSE"), join(staged, "LICENSE"));
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
