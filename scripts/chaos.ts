import { join } from "node:path";
import { runChaos } from "../tests/support/chaos.ts";
import { runHostChaos } from "../tests/support/host-chaos.ts";
import { duration, flag, readArguments, readFlags, seedOf, text } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst } from "./long-run.ts";

const usage = `
Usage: bun run chaos [--hosts] [--seconds N | --minutes N] [--seed S]

Agents, gateways and tmux servers are killed, and gateways hang, at random under load through the coordination server.
Exit 0 when no answer was wrong.

  --hosts      between hosts with a NATS server, which are killed, frozen, cut off and put out of time too
  --seconds N  for so long; or --minutes N (default 2 minutes; 30 with --hosts)
  --seed S     the same dice again
`;

const { hosts, seconds, seed } = readArguments(usage, (words) => {
  const values = readFlags(words, { hosts: flag, seconds: text, minutes: text, seed: text });
  const minutes = duration("minutes", values.minutes, values.hosts ? 30 : 2);
  return {
    hosts: values.hosts,
    seconds: duration("seconds", values.seconds, 60 * minutes),
    seed: seedOf(values.seed),
  };
});

await bootstrap({ tmux: true });
await buildFirst();

console.log(`chaos${hosts ? " --hosts" : ""}: ${seconds} s, seed ${seed}`);
const run = hosts ? runHostChaos : runChaos;
const { wrong, figures } = await run({ seconds, seed, dist: join(repositoryRoot, "dist") });
const width = Math.max(...Object.keys(figures).map((name) => name.length));
for (const [name, value] of Object.entries(figures)) {
  console.log(`  ${name.padEnd(width)}  ${Number(value.toPrecision(4))}`);
}
for (const problem of wrong) console.error(`wrong: ${problem}`);
console.log(
  wrong.length === 0 ? "no wrong answer" : `${wrong.length} wrong answers; again with --seed ${seed}`,
);
process.exit(wrong.length === 0 ? 0 : 1);
