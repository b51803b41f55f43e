import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A compiled program of a few lines, as ours is compiled: what an executable of this runtime costs at least.
 */
export function compileBare(folder: string, name: string, source: string): string {
  mkdirSync(folder, { recursive: true });
  const entry = join(folder, `${name}.ts`);
  const outfile = join(folder, name);
  writeFileSync(entry, source);
  const flags = ["--compile", "--production", "--minify", "--bytecode", "--format=esm"];
  const built = Bun.spawnSync([process.execPath, "build", ...flags, entry, `--outfile=${outfile}`]);
  if (!built.success) throw new Error(built.stderr.toString());
  return outfile;
}

/** Answers 200 to everything on the port that is its last argument. */
export const bareServer = `Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv.at(-1)),
  fetch: () => new Response("ok"),
});
`;
