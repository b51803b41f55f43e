import { join } from "node:path";
import { runSoak } from "../tests/support/soak.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst, endedBySignal, numberAfter, seedFlag } from "./long-run.ts";

// `bun run soak [--minutes N] [--agents N] [--seed S] [--json]`: agents at work on everything at once; memory and
// descriptors must stay flat and files bounded. Exit 0 when they do. Ctrl-C ends it and judges what was seen.

await bootstrap({ tmux: true });

const minutes = numberAfter("--minutes", 20);
const agents = numberAfter("--agents", 10, "whole number");
const seed = seedFlag();
const json = process.argv.includes("--json");
const tell = (line: string) => (json ? console.error(line) : console.log(line));

await buildFirst();

tell(`soak: ${agents} agents, ${minutes} minutes, seed ${seed}`);
let toldMinute = -1;
const { wrong, verdicts, figures } = await runSoak({
  ...{ seconds: minutes * 60, agents, seed, signal: endedBySignal() },
  dist: join(repositoryRoot, "dist"),
  onSample(seconds, { counts }) {
    const minute = Math.floor(seconds / 60);
    if (minute === toldMinute) return;
    toldMinute = minute;
    const descriptors = counts["descriptors of the watch"];
    const memory = (name: string) => `${(counts[`memory of ${name}`] ?? 0).toFixed(0)} MB`;
    tell(
      `  ${minute} min: gateways ${memory("the gateways")}, coordinator ${memory("the coordinator")}, watch ${memory("the watch")} and ${descriptors} descriptors`,
    );
  },
});
if (json) console.log(JSON.stringify({ seed, agents, figures, verdicts, wrong }, null, 2));
else {
  for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(34)}${value}`);
  for (const { name, first, last, growth, allowed } of verdicts) {
    const span = `${first.toFixed(1)} to ${last.toFixed(1)}`.padEnd(18);
    console.log(`  ${name.padEnd(34)}${span}grows ${growth.toFixed(1)}, tolerated ${allowed.toFixed(1)}`);
  }
}
for (const problem of wrong) console.error(`wrong: ${problem}`);
tell(wrong.length === 0 ? "flat and bounded" : `${wrong.length} problems; again with --seed ${seed}`);
process.exit(wrong.length === 0 ? 0 : 1);
