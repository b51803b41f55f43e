import { createTreeFixture } from "./tree-run.ts";

// One worker of `runTrees`: `worker.ts FOLDER BYSTANDER_PID FIRST_SEED COUNT [PROGRAMS]`. A line of JSON for
// each event, so that the supervisor knows in which command a worker hangs or dies.

const [folder = "", ...more] = process.argv.slice(2);
const [bystanderPid = 0, first = 1, count = 1] = more.slice(0, 3).map(Number);
const tell = (event: object) => void process.stdout.write(`${JSON.stringify(event)}\n`);

const fixture = await createTreeFixture(folder, bystanderPid, more[3] ?? null);
tell({ ready: fixture.wholeRound });
for (let seed = first; seed < first + count; seed++) {
  try {
    const findings = await fixture.run(seed, (operation, plants) => tell({ seed, operation, plants }));
    tell({ seed, findings });
  } catch (error) {
    tell({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error), seed });
    process.exit(2);
  }
}
fixture[Symbol.dispose]();
tell({ done: true });
process.exit(0);
