import { join } from "node:path";
import { runChaos } from "../tests/support/chaos.ts";
import { runHostChaos } from "../tests/support/host-chaos.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst, numberAfter, seedFlag } from "./long-run.ts";

// `bun run chaos [--seconds N] [--seed S]`: agents, gateways and tmux servers are killed, and gateways hang, at random
// under load through the coordination server. Exit 0 when no answer was wrong; the seed gives the same dice again.
// `--hosts [--minutes N]`: between hosts with a NATS server, which are killed, frozen, cut off and put out of time too.

await bootstrap({ tmux: true });

const hosts = process.argv.includes("--hosts");
const seconds = numberAfter("--seconds", 60 * numberAfter("--minutes", hosts ? 30 : 2));
const seed = seedFlag();

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
