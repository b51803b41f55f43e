import { join } from "node:path";
import { createWorkers } from "../simulation/workers.ts";
import { mutations } from "./mutations.ts";

// Prints which planted faults `bun run test` notices and which `bun run test --all` alone:
// `bun tests/mutations/tiers.ts`. A fault that worlds notice is planted into each of the five samples of worlds,
// of which `bun run test` runs one; a sample ends at the first world that says anything.

const samples = [1, 21, 41, 61, 81];
const worldsOfSample = 20;
const preload = [join(import.meta.dir, "mutate.ts")];

async function isNoticed(from: number, env: Record<string, string>): Promise<boolean> {
  const range = { from, seeds: worldsOfSample, jobs: 1, hours: 0.05, agents: 2 };
  let noticed = false;
  const ended = await createWorkers(range, { preload, env, until: /./ }).run(({ wrong }) => {
    noticed ||= wrong !== null;
  });
  return noticed || !ended;
}

console.log("| planted fault | module | bun run test | bun run test --all |\n| --- | --- | --- | --- |");
for (const { name, module, text, replacement, caught } of mutations) {
  const row = (fast: string, all: string) => console.log(`| ${name} | ${module} | ${fast} | ${all} |`);
  if (caught.by === "suite") {
    const isAwaited = !caught.file.startsWith("tests/mutations/");
    row(isAwaited ? caught.file : "no", caught.file);
    continue;
  }
  const env = { MUTATION: JSON.stringify({ module, text, replacement }) };
  const noticing: number[] = [];
  for (const from of samples) if (await isNoticed(from, env)) noticing.push(from);
  row(`${noticing.length} of ${samples.length} samples`, noticing.length > 0 ? "yes" : "no");
}
