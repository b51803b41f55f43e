import { expect, test } from "bun:test";
import { isWholeMatrix, matrixChoice } from "../support/matrix.ts";
import type { WorkerLine } from "./worker.ts";
import { createWorkers } from "./workers.ts";

const size = { hours: 0.05, agents: 2 };
/** A world takes 0.8 s of a processor; `bun run simulate` runs 500, and longer ones. */
const wholeWorlds = 100;
const sampleWorlds = 20;
const { sample } = matrixChoice;
const samples = wholeWorlds / sampleWorlds;
const worlds =
  sample === null
    ? { from: 1, seeds: wholeWorlds }
    : { from: 1 + sampleWorlds * (Bun.hash.crc32(sample.seed) % samples), seeds: sampleWorlds };

async function reportsOf(range: { from: number; seeds: number; jobs: number }): Promise<WorkerLine[]> {
  const lines: WorkerLine[] = [];
  expect(await createWorkers({ ...range, ...size }).run((line) => lines.push(line))).toBe(true);
  return lines.sort((left, right) => left.seed - right.seed);
}

const failures = (lines: WorkerLine[]) =>
  lines
    .filter((line) => line.wrong !== null)
    .map(
      ({ seed, wrong, tail }) =>
        `${tail?.slice(-30).join("\n")}\n${wrong}\nagain: bun run simulate --seed ${seed} --hours ${size.hours} --agents ${size.agents} --trace`,
    );

test("the same seed does the same again, whatever ran before it", async () => {
  const alone = await reportsOf({ from: 3, seeds: 1, jobs: 1 });
  const after = await reportsOf({ from: 1, seeds: 3, jobs: 1 });
  expect(after.map((line) => line.hash)).toContain(alone[0]?.hash ?? "");
  expect(new Set(after.map((line) => line.hash)).size).toBe(3);
}, 120_000);

test(`nothing is lost, doubled, stuck or typed where it must not be, in ${worlds.seeds} worlds`, async () => {
  const lines = await reportsOf({ ...worlds, jobs: 2 });
  expect(lines).toHaveLength(worlds.seeds);
  expect(failures(lines)).toEqual([]);
  if (!isWholeMatrix) return;
  // Worlds in which nothing happens would prove nothing.
  const total = (name: string) => lines.reduce((sum, line) => sum + (line.counts[name] ?? 0), 0);
  for (const name of [
    "requests_accepted",
    "letters_worked",
    "process_ends",
    "disturbances",
    "diskFull",
    "forwarded",
    "slowDisk",
  ]) {
    expect(total(name), name).toBeGreaterThanOrEqual(wholeWorlds / 25);
  }
}, 900_000);
