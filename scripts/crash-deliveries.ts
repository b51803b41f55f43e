import { join } from "node:path";
import { runDeliveryCrash } from "../tests/support/delivery-crash.ts";
import { runDeliveryStack } from "../tests/support/delivery-stack.ts";
import { readArguments, readFlags, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst } from "./long-run.ts";

const usage = `
Usage: bun run crash:deliveries [--items N] [--kills N] [--agents N] [--seed S]

Items appear while the process that delivers them to a webhook is killed (SIGKILL) and started again. With --agents the
items are questions of so many scripted agents, and the built gateways and the coordination server are killed. Exit 0
when none was missed and none came with two ids.

  --items N   how many (default 10000; 100 with --agents)
  --kills N   how often the process is killed (default 100; not with --agents)
  --agents N  so many agents (default none)
  --seed S    the same dice again
`;

const { agents, items, kills, seed } = readArguments(usage, (words) => {
  const values = readFlags(words, { agents: text, items: text, kills: text, seed: text });
  const asking = wholeNumber("agents", values.agents, 0, 0);
  return {
    agents: asking,
    items: wholeNumber("items", values.items, asking > 0 ? 100 : 10_000),
    kills: wholeNumber("kills", values.kills, 100),
    seed: seedOf(values.seed),
  };
});
console.log(
  `deliveries: ${items} items, ${agents > 0 ? `${agents} agents` : `${kills} kills`}, seed ${seed}`,
);
const { wrong, figures } = await (agents > 0
  ? runStack()
  : runDeliveryCrash({ items, kills, seed, longestLifeMs: 500 }));
for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(12)}${value}`);
for (const problem of wrong) console.error(`wrong: ${problem}`);
process.exit(wrong.length === 0 ? 0 : 1);

async function runStack() {
  await bootstrap({ tmux: true });
  await buildFirst();
  return runDeliveryStack({ agents, questions: items, seed, dist: join(repositoryRoot, "dist") });
}
