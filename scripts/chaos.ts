import { parseArgs } from "node:util";
import { printReport, runChaos, sizeOf } from "../tests/support/chaos/engine.ts";
import { worlds } from "../tests/support/chaos/worlds.ts";
import { duration, flag, readArguments, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap } from "./bootstrap.ts";
import { buildFirst } from "./build-first.ts";

const descriptions = worlds.map(({ name, summary, size }) => {
  const flags = Object.entries(size).map(([measure, value]) => `--${measure} ${value}`);
  const lines = [...summary.split("\n"), flags.join(" ")];
  return `  ${name.padEnd(12)}${lines.join(`\n${" ".repeat(14)}`)}`;
});

const usage = `
Usage: bun run chaos [WORLD] [--seconds N | --minutes N | --rounds N] [--agents N] [--items N] [--seed S] [--json]

The built programs work while some of them are killed at random moments, and start again on the same files; the worlds and how
much of each there is unless asked otherwise:

${descriptions.join("\n")}

Exit 0 when nothing was wrong, else 1 with the command that repeats the run. Ctrl-C ends it and judges what there is.

  --seconds N  for so long; or --minutes N
  --rounds N   so many faults
  --agents N   so many agents
  --items N    so many items to deliver
  --seed S     the same dice again
  --json       one JSON document at the end
`;

const { world, size, seed, json } = readArguments(usage, (args) => {
  const measure = { minutes: text, seconds: text, rounds: text, agents: text, items: text };
  const options = { ...measure, seed: text, json: flag };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [name = worlds[0]?.name, ...more] = positionals;
  const world = worlds.find((one) => one.name === name);
  if (!world || more.length > 0) {
    throw new Error(
      `no world ${positionals.join(" ")}; there are ${worlds.map((one) => one.name).join(", ")}`,
    );
  }
  const count = (flag: "rounds" | "agents" | "items") =>
    values[flag] === undefined ? {} : { [flag]: wholeNumber(flag, values[flag], 1) };
  const unit = values.minutes === undefined ? "seconds" : "minutes";
  const length = duration(unit, values[unit], 0) * (unit === "minutes" ? 60 : 1);
  const seconds = values[unit] === undefined ? {} : { seconds: length };
  const asked = { ...seconds, ...count("rounds"), ...count("agents"), ...count("items") };
  return { world, size: sizeOf(world, asked), seed: seedOf(values.seed), json: values.json };
});

await bootstrap({ tmux: true });
await buildFirst();

const abort = new AbortController();
process.on("SIGINT", () => abort.abort()).on("SIGTERM", () => abort.abort());
const onProgress = (line: string) => console.error(`  ${line}`);
console.error(`chaos ${world.name}: ${JSON.stringify(size)}, seed ${seed}`);
const report = await runChaos(world, { ...size, seed, signal: abort.signal, onProgress });
process.exit(printReport(report, { json }));
