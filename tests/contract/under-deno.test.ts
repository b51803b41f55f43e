import { expect, test } from "bun:test";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { denoExecutable } from "../support/deno-executable.ts";
import { createScratch } from "../support/scratch.ts";

const here = import.meta.dirname;
const processes = createProcesses({ steps: quietSteps });
/** Every route, every stream and the page; other tests of the contract ask services behind the same routes. */
const files = [
  "console",
  "coordinator-endpoints",
  "gateway-agui",
  "gateway-endpoints",
  "gateway-events",
  "http-observation",
  "json-text",
].map((name) => join(here, `${name}.test.ts`));

/** How many tests the files define under Bun; none of them runs for that. */
async function countUnderBun(): Promise<number> {
  const { stderr } = await processes.run(
    [process.execPath, "test", "-t", "no test has this name", ...files],
    {
      timeoutMs: 120_000,
    },
  );
  return Number(/skipping (\d+) tests/.exec(stderr)?.[1]);
}

test("the apps, unchanged, serve every route under Deno, in process and over its server", async () => {
  using scratch = createScratch();
  const run = await processes.run(
    [
      denoExecutable(),
      "test",
      "--quiet",
      "--no-check",
      "--cached-only",
      "--allow-all",
      `--config=${join(here, "../support/deno/deno.json")}`,
      ...files,
    ],
    {
      env: { HOME: scratch.folder, DENO_DIR: scratch.path("deno"), TMPDIR: scratch.folder, NO_COLOR: "1" },
      timeoutMs: 600_000,
    },
  );
  const passed = Number(/^ok \| (\d+) passed \| 0 failed/m.exec(run.stdout)?.[1]);
  const errors = run.stdout.slice(run.stdout.indexOf("\n ERRORS \n"));
  expect(run.exitCode === 0 ? "" : errors + run.stderr).toBe("");
  expect(passed).toBe(await countUnderBun());
  expect(passed).toBeGreaterThan(1400);
}, 780_000);
