import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildConsole, consoleArchive } from "./console-assets.ts";
import { bundleFlags, commitToBake, programNames } from "./executables.ts";
import { noticesOf } from "./notices.ts";
import { runStep } from "./steps.ts";

// Makes dist/npm, the programs as `npm pack` takes them: bundled, so that an installed package needs nothing but Bun,
// each with a launcher that finds Bun. Run by `npm pack` itself.

await bootstrap({ tmux: false });

const folder = join(repositoryRoot, "dist", "npm");
const aside = `${folder}-${process.pid}`;
const metafile = join(aside, "meta.json");
mkdirSync(aside, { recursive: true });
try {
  const bundled = await runStep({ name: "bundle", command: bundleCommand(await commitToBake()) });
  if (!bundled.ok) throw new Error(`the programs could not be bundled\n${bundled.output}`);
  const inputs = Object.keys((JSON.parse(readFileSync(metafile, "utf8")) as { inputs: object }).inputs);
  rmSync(metafile);
  const { inputs: ofConsole } = await buildConsole();
  copyFileSync(join(repositoryRoot, consoleArchive), join(aside, basename(consoleArchive)));
  writeFileSync(join(aside, "THIRD-PARTY-NOTICES"), noticesOf([...inputs, ...ofConsole]));
  const launcher = readFileSync(join(repositoryRoot, "scripts/launcher.sh"), "utf8");
  for (const name of programNames) {
    const path = join(aside, name);
    writeFileSync(path, launcher.replaceAll("BUN_VERSION", manifest.engines.bun.replace(/^>=/, "")));
    chmodSync(path, 0o755);
  }
  // One file after the other, so that whoever packs at the same time finds each of them.
  mkdirSync(folder, { recursive: true });
  const made = new Set(readdirSync(aside));
  for (const name of made) renameSync(join(aside, name), join(folder, name));
  for (const name of readdirSync(folder))
    if (!made.has(name)) rmSync(join(folder, name), { recursive: true });
} finally {
  rmSync(aside, { recursive: true, force: true });
}

function bundleCommand(commit: string): string[] {
  return [
    process.execPath,
    "build",
    "--target=bun",
    "--production",
    "--format=esm",
    // A command reads only what it imports.
    "--splitting",
    `--outdir=${aside}`,
    `--metafile=${metafile}`,
    ...bundleFlags(commit),
    ...programNames.map((name) => `src/cli/${name}.ts`),
  ];
}
