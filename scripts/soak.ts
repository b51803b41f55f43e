import { join } from "node:path";
import { runSoak } from "../tests/support/soak.ts";
import { duration, flag, readArguments, readFlags, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst, endedBySignal } from "./long-run.ts";

const usage = `
Usage: bun run soak [--minutes N] [--agents N] [--seed S] [--json]

Agents at work on everything at once: memory and descriptors must stay flat and files bounded. Exit 0 when they do. Ctrl-C
ends it and judges what was seen.

  --minutes N  for so long (default 20)
  --agents N   so many agents (default 10)
  --seed S     the same dice again
  --json       one JSON document at the end
`;

const { minutes, agents, seed, json } = readArguments(usage, (words) => {
  const values = readFlags(words, { minutes: text, agents: text, seed: text, json: flag });
  return {
    minutes: duration("minutes", values.minutes, 20),
    agents: wholeNumber("agents", values.agents, 10),
    seed: seedOf(values.seed),
    json: values.json,
  };
});

await bootstrap({ tmux: true });

const tell = (line: string) => (json ? console.error(line) : console.log(line));

await buildFirst();

tell(`soak: ${agents} agents, ${minutes} minutes, seed ${seed}`);
let toldMinute = -1;
const { wrong, verdicts, figures } = await runSoak({
  seconds: minutes * 60,
  agents,
  seed,
  signal: endedBySignal(),
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
