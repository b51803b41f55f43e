import { runDeliveryCrash } from "../tests/support/delivery-crash.ts";
import { numberAfter, seedFlag } from "./long-run.ts";

// `bun run crash:deliveries [--items N] [--kills N] [--seed S]`: items appear while the process that delivers them to a
// webhook is killed (SIGKILL) and started again. Exit 0 when none was missed and none came with two ids.

const items = numberAfter("--items", 10_000, "whole number");
const kills = numberAfter("--kills", 100, "whole number");
const seed = seedFlag();
console.log(`deliveries: ${items} items, ${kills} kills, seed ${seed}`);
const { wrong, figures } = await runDeliveryCrash({ items, kills, seed, longestLifeMs: 500 });
for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(12)}${value}`);
for (const problem of wrong) console.error(`wrong: ${problem}`);
process.exit(wrong.length === 0 ? 0 : 1);
