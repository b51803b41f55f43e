import { join } from "node:path";
import { runCrash } from "../tests/support/crash.ts";
import { flag, readArguments, readFlags, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst, endedBySignal } from "./long-run.ts";

const usage = `
Usage: bun run crash [--cycles N] [--seed S] [--json]

The built programs are killed (SIGKILL) at random moments under load, and started again on the same files. Exit 0 when
nothing was lost, doubled or wrong. Ctrl-C ends after the present cycle and checks what there is.

  --cycles N  how often (default 1000)
  --seed S    the same dice again
  --json      one JSON document at the end
`;

const { cycles, seed, json } = readArguments(usage, (words) => {
  const values = readFlags(words, { cycles: text, seed: text, json: flag });
  return { cycles: wholeNumber("cycles", values.cycles, 1000), seed: seedOf(values.seed), json: values.json };
});

await bootstrap({ tmux: true });
const tell = (line: string) => (json ? console.error(line) : console.log(line));

await buildFirst();

tell(`crash: ${cycles} cycles, seed ${seed}`);
const started = performance.now();
const seconds = () => Math.round((performance.now() - started) / 1000);
const { wrong, figures } = await runCrash({
  cycles,
  seed,
  signal: endedBySignal(),
  dist: join(repositoryRoot, "dist"),
  onCycle(done, problems) {
    if (done % 25 === 0) tell(`  ${done} of ${cycles} cycles, ${problems} problems, ${seconds()} s`);
  },
});
if (json) console.log(JSON.stringify({ seed, seconds: seconds(), ...figures, wrong }, null, 2));
else for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(26)}${value}`);
for (const problem of wrong) console.error(`wrong: ${problem}`);
tell(
  wrong.length === 0
    ? `nothing lost, nothing doubled, ${seconds()} s`
    : `${wrong.length} problems; again with --seed ${seed}`,
);
process.exit(wrong.length === 0 ? 0 : 1);
