import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { endLeftovers } from "../../scripts/leftovers.ts";
import type { WorkerLine } from "../simulation/worker.ts";
import { createWorkers } from "../simulation/workers.ts";
import { createScratch } from "../support/scratch.ts";
import { type CaughtBySuite, type CaughtByWorlds, type Mutation, mutations } from "./mutations.ts";

const root = join(import.meta.dir, "../..");
const preload = join(import.meta.dir, "mutate.ts");
/** So many worlds must do; the very same ones are run without a mutation by the simulation's own test. */
const worlds = 24;
const size = { hours: 0.05, agents: 2 };

const environmentOf = ({ module, text, replacement }: Mutation) => ({
  MUTATION: JSON.stringify({ module, text, replacement }),
});

/** What the first worlds say until one says what it must; null when none does. */
async function noticedByWorlds(mutation: Mutation, caught: CaughtByWorlds): Promise<string | null> {
  const seen: WorkerLine[] = [];
  const workers = createWorkers(
    { ...size, from: caught.from, seeds: worlds, jobs: 1 },
    { preload: [preload], env: environmentOf(mutation), until: caught.wrong },
  );
  await workers.run((line) => seen.push(line));
  return seen.find((line) => line.wrong !== null && caught.wrong.test(line.wrong))?.wrong ?? null;
}

/** Whether the file notices the mutation; without one it is run by the tests of which it is one. */
async function failsInSuite(mutation: Mutation, { file }: CaughtBySuite): Promise<boolean> {
  const command = ["test", "--preload", preload, file];
  using scratch = createScratch();
  const folder = scratch.path("suite");
  mkdirSync(folder);
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    env: {
      ...process.env,
      TMPDIR: folder,
      MUTATED_SUITE: folder,
      ...environmentOf(mutation),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  // A test that the mutation made hang leaves what it started.
  await endLeftovers({ name: "MUTATED_SUITE", value: folder }, 0);
  // A file that could not even be loaded has noticed nothing.
  expect(output).toMatch(/\d+ (pass|fail)/);
  return exitCode !== 0;
}

describe("a change of this module is noticed", () => {
  test.each(mutations.map((one) => [one.name, one] as const))(
    "%s",
    async (_, mutation) => {
      const { caught } = mutation;
      if (caught.by === "simulation") {
        expect(await noticedByWorlds(mutation, caught)).toMatch(caught.wrong);
        return;
      }
      expect(await failsInSuite(mutation, caught)).toBe(true);
    },
    600_000,
  );
});

test("each mutation still fits its module, and there are enough of them", () => {
  const misfits = mutations.filter(
    ({ module, text }) => readFileSync(join(root, module), "utf8").split(text).length !== 2,
  );
  expect(misfits.map((one) => one.name)).toEqual([]);
  expect(mutations.length).toBeGreaterThanOrEqual(12);
});
