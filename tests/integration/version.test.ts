import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkoutCommit, selfCommand } from "../../src/cli/command-line/version.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { plantFolder, showsPlantedVariable } from "../support/planted-folder.ts";
import { createScratch } from "../support/scratch.ts";

const processes = createProcesses({ steps: quietSteps });

/** A git checkout with a file of ours and a document, both committed. */
async function createCheckout() {
  const scratch = createScratch();
  const git = async (...words: string[]) => {
    const identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    const run = await processes.run(["git", ...identity, ...words], { cwd: scratch.folder });
    if (run.exitCode !== 0) throw new Error(run.stderr);
    return run.stdout.trim();
  };
  mkdirSync(scratch.path("src"));
  writeFileSync(scratch.path("src/a.ts"), "one");
  writeFileSync(scratch.path("notes.md"), "one");
  await git("init", "--quiet");
  await git("add", ".");
  await git("commit", "--quiet", "--message=first");
  return Object.assign(scratch, {
    head: await git("rev-parse", "--short=7", "HEAD"),
    commit: (folder = scratch.folder) => checkoutCommit(folder, processes),
  });
}

test("a checkout is known by its commit, and by whether the source differs from it", async () => {
  using checkout = await createCheckout();
  expect(await checkout.commit()).toBe(checkout.head);
  writeFileSync(checkout.path("notes.md"), "two");
  expect(await checkout.commit()).toBe(checkout.head);
  writeFileSync(checkout.path("src/a.ts"), "two");
  expect(await checkout.commit()).toBe(`${checkout.head}-dirty`);
});

test("a new file in the source makes it differ", async () => {
  using checkout = await createCheckout();
  writeFileSync(checkout.path("src/b.ts"), "new");
  expect(await checkout.commit()).toBe(`${checkout.head}-dirty`);
});

test("a copy within the repository of someone else has no commit", async () => {
  using checkout = await createCheckout();
  expect(await checkout.commit(checkout.path("src"))).toBeNull();
});

test.each([
  { id: "outside of git", run: processes.run },
  { id: "without git", run: () => Promise.reject(new Error("ENOENT")) },
])("there is no commit $id", async ({ run }) => {
  using scratch = createScratch();
  expect(await checkoutCommit(scratch.folder, { run })).toBeNull();
  expect(await checkoutCommit(join(scratch.folder, "absent"), { run })).toBeNull();
});

describe("in a folder with files for Bun", () => {
  const program = join(import.meta.dir, "../../src/cli/svc-gateway.ts");
  /** Runs `svc-mgr doctor` by this command in a planted folder with an empty home. */
  async function doctor(command: readonly string[]) {
    const scratch = createScratch();
    mkdirSync(scratch.path("home"));
    mkdirSync(scratch.path("cloned"));
    const planted = plantFolder(scratch.path("cloned"));
    const env = { PATH: process.env["PATH"] ?? "", HOME: scratch.path("home") };
    const run = await processes.run([...command, "mgr", "doctor", "--json"], {
      cwd: planted.path,
      env,
      timeoutMs: 60_000,
    });
    return Object.assign(scratch, { run, ran: planted.ran() });
  }

  test("the source starts itself and runs nothing of them", async () => {
    using here = await doctor(selfCommand());
    expect(here.ran).toEqual([]);
    expect(here.run.stdout).toContain('"checks"');
    expect(showsPlantedVariable(here.run.stdout)).toBe(false);
  });

  test("a Bun that is started in the usual way runs them", async () => {
    using here = await doctor([process.execPath, program, "gateway"]);
    expect(here.ran).not.toEqual([]);
    using variables = await doctor([process.execPath, "--config=/dev/null", ...noPaths, program, "gateway"]);
    expect(variables.ran).toEqual([]);
    expect(showsPlantedVariable(variables.run.stdout)).toBe(true);
  });
  const noPaths = [`--tsconfig-override=${join(import.meta.dir, "../../tsconfig.json")}`];
});
