import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CliLab, createCliLab } from "../cli-lab.ts";

/** A lab whose programs are one executable: the scripted agent in it knows hostile scripts. */
export async function createHostileLab(): Promise<CliLab> {
  const folder = mkdtempSync(join(tmpdir(), "svc-hostile-"));
  const executable = join(folder, "svc-gateway");
  const entry = join(import.meta.dir, "svc-gateway.ts");
  const build = Bun.spawn([process.execPath, "build", "--compile", entry, "--outfile", executable], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const complaints = await new Response(build.stderr).text();
  if ((await build.exited) !== 0) throw new Error(`the hostile programs were not built: ${complaints}`);
  const lab = createCliLab({ executable });
  return {
    ...lab,
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
