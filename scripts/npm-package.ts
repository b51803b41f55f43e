import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { repositoryRoot } from "./bootstrap.ts";
import { accounts, executable, programNames } from "./executables.ts";
import type { ReleaseTarget } from "./release-targets.ts";
import { runStep } from "./steps.ts";

/** What the package has beside the executable. */
const documents = ["README.md", "CHANGELOG.md", "LICENSE", "docs", "examples"];

/**
 * Makes the npm package of one machine from the programs in `programs`, as `svc-mgr-VERSION-TARGET.tgz` in
 * `destination`; returns its path. It holds the executable itself, so that no interpreter reads the folder of
 * who calls it, and names no other package, so that an installer asks no registry. npm links all four names
 * to the one file.
 */
export async function packPackage(
  target: ReleaseTarget,
  programs: string,
  destination: string,
): Promise<string> {
  mkdirSync(destination, { recursive: true });
  const staged = mkdtempSync(join(destination, ".package-"));
  try {
    cpSync(join(programs, executable), join(staged, "bin", executable));
    for (const name of accounts) cpSync(join(programs, name), join(staged, name));
    for (const name of documents) cpSync(join(repositoryRoot, name), join(staged, name), { recursive: true });
    writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifestOf(target), null, 2)}\n`);
    const pack = ["npm", "pack", "--silent", "--ignore-scripts", `--pack-destination=${staged}`];
    const step = await runStep({ name: "package", command: pack, cwd: staged });
    if (!step.ok) throw new Error(`the package for ${target.name} was not made\n${step.output}`);
    const path = join(destination, `svc-mgr-${manifest.version}-${target.name}.tgz`);
    renameSync(join(staged, `svc-mgr-${manifest.version}.tgz`), path);
    return path;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/**
 * Installs a package from its file into `folder`, without a registry; returns the folder with its programs.
 */
export async function installPackage(path: string, folder: string): Promise<string> {
  const install = ["npm", "install", "--offline", "--no-audit", "--no-fund", `--prefix=${folder}`, path];
  const step = await runStep({ name: "install", command: install, cwd: folder });
  if (!step.ok) throw new Error(`${path} was not installed\n${step.output}`);
  return join(folder, "node_modules/.bin");
}

function manifestOf({ npm }: ReleaseTarget): object {
  const { name, version, description, license } = manifest;
  return {
    name,
    version,
    description,
    license,
    // Nobody has registered the name: `npm publish` refuses the package until that is decided (decision 97).
    private: true,
    os: [npm.os],
    cpu: [npm.cpu],
    ...(npm.libc === undefined ? {} : { libc: [npm.libc] }),
    bin: Object.fromEntries(programNames.map((program) => [program, `bin/${executable}`])),
  };
}
