import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFuzz } from "../tests/hostile/fuzz.ts";
import { fuzzTargets } from "../tests/hostile/fuzz-worlds.ts";
import { describeFinding, groupFindings, runTrees } from "../tests/hostile/trees/run-trees.ts";
import { openForeignTargets } from "../tests/support/schemathesis/targets.ts";
import { describeMutatedRun, runMutatedCorpus } from "../tests/unit/terminal/mutated-corpus.ts";
import { duration, flag, readArguments, readFlags, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst } from "./build-first.ts";
import { targetOfThisMachine } from "./release-targets.ts";

const usage = `
Usage: bun run fuzz [--seconds N] [--seed S]
       bun run fuzz --schemathesis [--seconds N] [--seed S]
       bun run fuzz --trees N [--built | --packed] [--seed S]
       bun run fuzz --screens N [--seed S]

Every route of both servers is asked what its document allows, nearly that, and anything, in turns of a few seconds each.
Exit 0 when every answer was as documented; the seed that is printed with a failure repeats it.

  --seconds N     for so long (default 120)
  --schemathesis  the same question by that fuzzer, of both executables
  --trees N       so many working trees with hostile values in the files that svc reads there
  --built         the executables run the commands, in trees that also have files for their runtime; the source does otherwise
  --packed        the same with the programs of the npm package, installed from its file
  --screens N     so many recorded screens as another version, theme, language or pane would draw them; exit 0 when none of
                  an agent that is not ready reads as ready
  --seed S        the same again
`;

const { foreign, seconds, trees, screens, seed, programs } = readArguments(usage, (words) => {
  const values = readFlags(words, {
    seconds: text,
    seed: text,
    trees: text,
    screens: text,
    schemathesis: flag,
    built: flag,
    packed: flag,
  });
  if (values.built && values.packed) throw new Error("--built or --packed, not both");
  const countOf = (name: "trees" | "screens") =>
    values[name] === undefined ? null : wholeNumber(name, values[name], 1);
  return {
    foreign: values.schemathesis,
    programs: values.packed ? "packed" : values.built ? "built" : "source",
    seconds: duration("seconds", values.seconds, 120),
    trees: countOf("trees"),
    screens: countOf("screens"),
    seed: seedOf(values.seed),
  };
});

await bootstrap({ tmux: foreign });
if (foreign) process.exit(await runForeign());
if (trees !== null) process.exit(await fuzzTrees(trees));
if (screens !== null) process.exit(fuzzScreens(screens));

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

/** Each server for a third of the time. */
async function runForeign(): Promise<number> {
  await buildFirst();
  await using servers = await openForeignTargets(join(repositoryRoot, "dist"));
  console.log(`fuzz: schemathesis, ${seconds} s, seed ${seed}`);
  for (const target of servers.targets) {
    const share = Math.max(1, Math.floor(seconds / servers.targets.length));
    const { failure, output } = await target.run({ seed, seconds: share });
    if (failure !== null) {
      console.error(`${target.name}, --seed ${seed}:\n${failure}`);
      return 1;
    }
    console.log(`  ${target.name}: ${/[\d,]+ generated/.exec(output)?.[0] ?? "nothing"}`);
  }
  return 0;
}

async function fuzzTrees(trees: number): Promise<number> {
  console.log(`fuzz: ${trees} trees, seeds from ${seed}, ${programs}`);
  const place = mkdtempSync(join(tmpdir(), "svc-fuzz-"));
  try {
    return await fuzzTreesWith(trees, await programsIn(place));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** The folder of the programs that run the commands; null for the source. */
async function programsIn(place: string): Promise<string | null> {
  if (programs === "source") return null;
  await buildFirst();
  const built = join(repositoryRoot, "dist");
  if (programs === "built") return built;
  const { installPackage, packPackage } = await import("./npm-package.ts");
  return installPackage(await packPackage(targetOfThisMachine(), built, place), place);
}

async function fuzzTreesWith(trees: number, folder: string | null): Promise<number> {
  const everyTrees = 250;
  const began = performance.now();
  const run = await runTrees({
    seed,
    trees,
    ...(folder === null ? {} : { programs: folder }),
    onFinding: ({ seed: found, operation, problem }) =>
      console.log(`  seed ${found}: ${operation}: ${problem.slice(0, 200)}`),
    onProgress({ trees: done, operations, findings }) {
      if (done % everyTrees !== 0) return;
      const passed = Math.round((performance.now() - began) / 1000);
      console.log(`  ${done} trees, ${operations} commands, ${findings} findings, ${passed} s`);
    },
  });
  for (const { finding, times } of groupFindings(run.findings)) {
    console.error(`\n${times} x ${describeFinding(finding)}`);
  }
  const whole = Math.round((run.trees / run.wholeRound) * 100);
  console.log(`${run.trees} trees, ${run.operations} commands, ${run.findings.length} findings`);
  console.log(`${whole} % of a round in which each field meets each value`);
  return run.findings.length === 0 ? 0 : 1;
}

function fuzzScreens(screens: number): number {
  console.log(`fuzz: ${screens} screens, seeds from ${seed}`);
  const run = runMutatedCorpus({ seed, screens });
  for (const wrong of run.wrong) {
    console.error(`\nseed ${wrong.seed}: ${wrong.recording}, ${wrong.kinds}, reads as ready:\n${wrong.text}`);
  }
  console.log(describeMutatedRun(run));
  return run.wrong.length === 0 ? 0 : 1;
}
