import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { takeNothing } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { commitToBake, compilePrograms } from "./executables.ts";

takeNothing(`
Usage: bun run build

Compiles the programs for this machine into dist/, with the licences of what is in them. Does nothing when they were built from exactly this source. For other
machines: \`bun run release\`.
`);

const { dependencies } = await bootstrap({ tmux: false });
// The bundler of a process that began without packages does not find those that came since.
if (dependencies === "installed") {
  process.exit(
    await Bun.spawn([process.execPath, import.meta.path], { stdio: ["ignore", "inherit", "inherit"] }).exited,
  );
}

const folder = join(repositoryRoot, "dist");
const stamp = join(folder, ".built-from");
const commit = await commitToBake();
const fingerprint = fingerprintOf(sourceFiles(), `${Bun.version} ${commit}`);

if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint) {
  console.log(`build: ${relative(repositoryRoot, folder)} is fresh`);
  process.exit(0);
}
const built = await compilePrograms(folder, commit);
if (built) writeFileSync(stamp, fingerprint);
process.exitCode = built ? 0 : 1;

function sourceFiles(): string[] {
  const source = readdirSync(join(repositoryRoot, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(repositoryRoot.length + 1));
  const screens = readdirSync(join(repositoryRoot, "tests/screens"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(repositoryRoot.length + 1));
  return [
    ...source.sort(),
    ...screens.sort(),
    "package.json",
    "bun.lock",
    "scripts/build.ts",
    "scripts/bun-parts.json",
    "scripts/console-assets.ts",
    "scripts/executables.ts",
    "scripts/notices.ts",
    "scripts/pack-queue.ts",
  ];
}

function fingerprintOf(files: string[], circumstances: string): string {
  const hash = createHash("sha256").update(circumstances);
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(repositoryRoot, file)));
  return hash.digest("hex");
}
