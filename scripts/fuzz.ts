import { runFuzz } from "../tests/hostile/fuzz.ts";
import { fuzzTargets } from "../tests/hostile/fuzz-worlds.ts";
import { bootstrap } from "./bootstrap.ts";
import { numberAfter, seedFlag } from "./long-run.ts";

// `bun run fuzz [--seconds N] [--seed S]`: every route of both servers is asked what its document allows, nearly that,
// and anything, in turns of a few seconds each. Exit 0 when every answer was as documented; the seed that is printed
// with a failure repeats it.

await bootstrap({ tmux: false });

const seconds = numberAfter("--seconds", 120);
const seed = seedFlag();
const ends = performance.now() + seconds * 1000;
const sliceSeconds = Math.min(10, seconds / fuzzTargets.length);

let calls = 0;
let stopped = false;
process.on("SIGINT", () => {
  stopped = true;
});
const seen = new Set<string>();
console.log(`fuzz: ${seconds} s, seed ${seed}`);
for (let turn = 0; !stopped && performance.now() < ends; turn++) {
  const target = fuzzTargets[turn % fuzzTargets.length];
  if (!target) break;
  const run = await runFuzz(target, { seed: seed + turn, rounds: 1_000_000, seconds: sliceSeconds });
  calls += run.calls;
  for (const key of run.statuses.keys()) seen.add(`${target.name} ${key}`);
  if (run.failure !== null) {
    console.error(`${target.name}, --seed ${seed + turn}:\n${run.failure}`);
    process.exit(1);
  }
  console.log(`  ${target.name}: ${run.calls} calls, ${seen.size} kinds of answers so far`);
}
console.log(`${calls} calls, every answer as documented`);
process.exit(0);
