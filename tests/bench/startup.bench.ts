import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bench, durationRows, takeTurns } from "./bench.ts";

const executable = join(import.meta.dir, "..", "..", "dist", "svc-mgr");

/** From the start of the compiled executable to its end, beside a compiled program that does nothing. */
const bench: Bench = {
  name: "startup",
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
    try {
      const bare = compileBare(folder);
      const durations = await takeTurns(
        [
          { name: "ours", run: () => runToEnd([executable, "--version"]) },
          { name: "bare", run: () => runToEnd([bare]) },
        ],
        { rounds: 40, warmUp: 3 },
      );
      return durationRows("version", durations["ours"] ?? [], durations["bare"] ?? []);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export default bench;

function compileBare(folder: string): string {
  const entry = join(folder, "bare.ts");
  const outfile = join(folder, "bare");
  writeFileSync(entry, 'console.log("0.0.0");\n');
  const flags = ["--compile", "--production", "--minify", "--bytecode", "--format=esm"];
  const built = Bun.spawnSync([process.execPath, "build", ...flags, entry, `--outfile=${outfile}`]);
  if (!built.success) throw new Error(built.stderr.toString());
  return outfile;
}

async function runToEnd(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} exited with ${child.exitCode}`);
}
