import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createScratch } from "../../support/scratch.ts";

const root = resolve(import.meta.dir, "../../..");

// In the repository as a person types it: bunfig.toml names tests/preload.ts.
test("a plain `bun test FILE` ends a test that hangs, after the time of this repository", async () => {
  using scratch = createScratch();
  const path = scratch.path("hang.test.ts");
  writeFileSync(path, 'import { test } from "bun:test";\ntest("hangs", () => new Promise(() => {}));\n');
  const run = Bun.spawn([process.execPath, "test", path], {
    cwd: root,
    env: { ...process.env, SVC_TEST_TIMEOUT_MS: "123" },
    stdout: "ignore",
    stderr: "pipe",
  });
  expect(await new Response(run.stderr).text()).toContain("this test timed out after 123ms");
  expect(await run.exited).toBe(1);
});
