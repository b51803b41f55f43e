import { join } from "node:path";
import { runDeliveryCrash } from "../tests/support/delivery-crash.ts";
import { runDeliveryStack } from "../tests/support/delivery-stack.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst, numberAfter, seedFlag } from "./long-run.ts";

// `bun run crash:deliveries [--items N] [--kills N] [--seed S]`: items appear while the process that delivers them to a
// webhook is killed (SIGKILL) and started again. With `--agents N` the items are questions of so many scripted agents,
// and the built gateways and the coordination server are killed. Exit 0 when none was missed and none came with two ids.

const agents = numberAfter("--agents", 0, "whole number");
const items = numberAfter("--items", agents > 0 ? 100 : 10_000, "whole number");
const kills = numberAfter("--kills", 100, "whole number");
const seed = seedFlag();
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
