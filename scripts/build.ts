import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { runStep } from "./steps.ts";

// Compiles the executables into dist/, or dist/TARGET/ for `--target=bun-linux-arm64` and its like. Does nothing
// when they were built from exactly this source.

await bootstrap({ tmux: false });

const executables = ["svc-gateway", "svc-coord"] as const;
/** Under this name the gateway's executable is the command line: one file, two names. */
const secondName = { name: "svc-mgr", of: "svc-gateway" };

const target = process.argv.find((argument) => argument.startsWith("--target="))?.slice("--target=".length);
const folder = join(repositoryRoot, "dist", target ?? "");
const stamp = join(folder, ".built-from");
const commit = await currentCommit();
const fingerprint = fingerprintOf(sourceFiles(), `${Bun.version} ${commit} ${target}`);

if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint) {
  console.log(`build: ${relative(repositoryRoot, folder)} is fresh`);
  process.exit(0);
}

// Built aside and renamed into place, so that nobody ever runs half an executable.
const aside = join(folder, `.aside-${process.pid}`);
mkdirSync(aside, { recursive: true });
try {
  const built = await compileInto(aside);
  if (built) {
    symlinkSync(secondName.of, join(aside, secondName.name));
    for (const name of [...executables, secondName.name]) renameSync(join(aside, name), join(folder, name));
    writeFileSync(stamp, fingerprint);
  }
  process.exitCode = built ? 0 : 1;
} finally {
  rmSync(aside, { recursive: true, force: true });
}

async function compileInto(place: string): Promise<boolean> {
  for (const name of executables) {
    const built = await runStep({ name, command: compileCommand(name, join(place, name)) });
    if (!built.ok) {
      console.error(`build: ${name} failed\n${built.output}`);
      return false;
    }
    console.log(`build: ${name} in ${built.seconds.toFixed(1)} s`);
  }
  return true;
}

function compileCommand(name: string, outfile: string): string[] {
  return [
    process.execPath,
    "build",
    "--compile",
    "--production",
    "--minify",
    "--sourcemap",
    "--bytecode",
    "--format=esm",
    // What a command does not import is not read: 6 ms less to the first answer of a gateway.
    "--splitting",
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    ...(target === undefined ? [] : [`--target=${target}`]),
    ...(commit === "" ? [] : ["--define", `SVC_COMMIT=${JSON.stringify(commit)}`]),
    `src/cli/${name}.ts`,
    `--outfile=${outfile}`,
  ];
}

/** Seven digits, `-changed` when src/ differs from it; empty outside of git. */
async function currentCommit(): Promise<string> {
  const head = await runStep({ name: "commit", command: ["git", "rev-parse", "--short=7", "HEAD"] });
  if (!head.ok) return "";
  const clean = await runStep({ name: "changes", command: ["git", "diff", "--quiet", "HEAD", "--", "src"] });
  return head.output.trim() + (clean.ok ? "" : "-changed");
}

function sourceFiles(): string[] {
  const source = readdirSync(join(repositoryRoot, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(repositoryRoot.length + 1));
  return [...source.sort(), "package.json", "bun.lock", "scripts/build.ts"];
}

function fingerprintOf(files: string[], circumstances: string): string {
  const hash = createHash("sha256").update(circumstances);
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(repositoryRoot, file)));
  return hash.digest("hex");
}
