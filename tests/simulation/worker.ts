import { afterThisTurn } from "../../src/system/clock.ts";
import { compileSchemasOnce } from "./compile-once.ts";
import { ProcessGone } from "./sim-process.ts";
import { type SimulationReport, simulate } from "./simulation.ts";

// Runs `count` seeds from `from` on, each `step` after the one before, and writes one line of JSON for each.
// Ends after a few more when it is interrupted, and at once when something goes wrong that fits UNTIL:
// worker.ts FROM COUNT STEP HOURS AGENTS [UNTIL]

/** What one line says; the trace only of a seed that went wrong. */
export type WorkerLine = Omit<SimulationReport, "tail"> & { tail: string[] | null };

const [from = 0, count = 0, step = 1, hours = 0, agents = 1] = process.argv.slice(2, 7).map(Number);
const until = process.argv[7] === undefined ? null : new RegExp(process.argv[7]);
let stopped = false;
const stop = () => {
  stopped = true;
};
process.on("SIGINT", stop).on("SIGTERM", stop);
/** Of promises that were rejected and nobody looked at: a gateway would end of them. */
const strays: unknown[] = [];
const stray = (error: unknown) => {
  if (!(error instanceof ProcessGone)) strays.push(error);
};
process.on("unhandledRejection", stray).on("uncaughtException", stray);
compileSchemasOnce();
for (let nth = 0; nth < count && !stopped; nth++) {
  const { tail, ...report } = await simulate({ seed: from + nth * step, hours, agents });
  const line: WorkerLine = { ...report, tail: report.wrong === null ? null : tail };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (line.wrong !== null && until?.test(line.wrong)) break;
  // The runtime tells of them when its loop has its turn, and then forgets much of what it compiled.
  if (nth % 8 === 7 || nth === count - 1) await new Promise<void>(afterThisTurn);
}
for (const error of strays) console.error(`from ${from} in steps of ${step}: nobody caught`, error);
process.exit(strays.length === 0 ? 0 : 1);
