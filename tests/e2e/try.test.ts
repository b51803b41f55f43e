import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

test("`bun run try` shows the main job, and leaves nothing", async () => {
  const child = Bun.spawn([process.execPath, "scripts/try.ts"], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaints] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, complaints]).toEqual([0, ""]);
  expect(output).toContain("the gateway was killed with SIGKILL; a new one took over the same queue");
  expect(output).toContain("nothing is left: no process, no tmux session, no file");
}, 240_000);
