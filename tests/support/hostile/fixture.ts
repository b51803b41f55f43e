import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../cli-fixture.ts";

/** A fixture whose programs are one executable: the scripted agent in it knows hostile scripts. */
export async function createHostileFixture(): Promise<CliFixture> {
  const folder = mkdtempSync(join(tmpdir(), "svc-hostile-"));
  const executable = join(folder, "svc-gateway");
  const entry = join(import.meta.dir, "svc-gateway.ts");
  const build = Bun.spawn([process.execPath, "build", "--compile", entry, "--outfile", executable], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const complaints = await new Response(build.stderr).text();
  if ((await build.exited) !== 0) throw new Error(`the hostile programs were not built: ${complaints}`);
  const fixture = createCliFixture({ executable });
  return {
    ...fixture,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
