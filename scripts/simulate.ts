import { compileSchemasOnce } from "../tests/simulation/compile-once.ts";
import { ProcessGone } from "../tests/simulation/sim-process.ts";
import { simulate } from "../tests/simulation/simulation.ts";
import type { WorkerLine } from "../tests/simulation/worker.ts";
import { createWorkers } from "../tests/simulation/workers.ts";
import { duration, flag, readArguments, readFlags, seedOf, text, wholeNumber } from "./arguments.ts";
import { bootstrap } from "./bootstrap.ts";

const usage = `Usage: bun run simulate --seed N  [--hours H] [--agents N] [--trace] [--json]
       bun run simulate --seeds N [--from N] [--jobs N] [--hours H] [--agents N] [--json]

Agents, their gateways, tmux and time itself simulated from a seed, on real databases, with everything that can
go wrong: what must never be is looked for all the time. The same seed does the same again. Exit 0 when nothing was wrong.

  --seed N    one world; --trace shows what happens in it
  --seeds N   so many worlds, from --from on (default 1), in --jobs processes (default 2)
  --hours H   simulated time of one world, before the calm at its end (default 0.1)
  --agents N  agents in one world (default 2)
  --json      one JSON document at the end
`;

const { seed, range, hours, agents, trace, json } = readArguments(usage, (words) => {
  const values = readFlags(words, {
    seed: text,
    seeds: text,
    from: text,
    jobs: text,
    hours: text,
    agents: text,
    trace: flag,
    json: flag,
  });
  const count = (name: "seeds" | "jobs" | "agents", otherwise: number) =>
    wholeNumber(name, values[name], otherwise);
  return {
    seed: values.seed === undefined ? null : seedOf(values.seed),
    range: {
      from: wholeNumber("from", values.from, 1, 0),
      seeds: count("seeds", 500),
      jobs: count("jobs", 2),
    },
    hours: duration("hours", values.hours, 0.1),
    agents: count("agents", 2),
    trace: values.trace,
    json: values.json,
  };
});

await bootstrap({ tmux: false });

if (seed !== null) await runOne(seed);
else await runMany(range);

async function runOne(seed: number): Promise<never> {
  compileSchemasOnce();
  const echo = trace && !json ? { echo: (line: string) => console.log(line) } : {};
  const stray = (error: unknown) => {
    if (!(error instanceof ProcessGone)) console.error("nobody caught", error);
  };
  process.on("unhandledRejection", stray).on("uncaughtException", stray);
  const report = await simulate({ seed, hours, agents, ...echo });
  await new Promise((resolve) => setTimeout(resolve));
  if (json) console.log(JSON.stringify(report, null, 2));
  else {
    if (report.wrong !== null && !trace) console.log(report.tail.join("\n"));
    console.log(figuresOf(report.counts));
    console.log(`trace ${report.hash.slice(0, 16)}`);
    console.log(report.wrong === null ? "nothing was wrong" : `wrong: ${report.wrong}`);
  }
  process.exit(report.wrong === null ? 0 : 1);
}

async function runMany(range: { from: number; seeds: number; jobs: number }): Promise<never> {
  const workers = createWorkers({ ...range, hours, agents });
  const started = performance.now();
  const total: Record<string, number> = {};
  const wrong: WorkerLine[] = [];
  let done = 0;
  let simulatedMs = 0;
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    workers.stop();
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  const progress = () =>
    `${done} of ${range.seeds} seeds, ${wrong.length} wrong, ${((performance.now() - started) / 1000).toFixed(0)} s`;
  const well = await workers.run((line) => {
    done += 1;
    simulatedMs += line.simulatedMs;
    for (const [name, count] of Object.entries(line.counts)) total[name] = (total[name] ?? 0) + count;
    if (line.wrong !== null) {
      wrong.push(line);
      if (!json) tell(line);
    }
    if (!json && done % 100 === 0) console.log(progress());
  });
  const seconds = (performance.now() - started) / 1000;
  const simulatedHours = simulatedMs / 3_600_000;
  if (json) {
    const failures = wrong.map(({ seed, wrong: what, hash }) => ({ seed, wrong: what, hash }));
    const figures = { ...total, simulated_hours: simulatedHours, seconds };
    console.log(
      JSON.stringify({ schema_version: 1, ...range, hours, agents, done, interrupted, failures, figures }),
    );
  } else {
    console.log(figuresOf({ ...total, simulated_hours: Math.round(simulatedHours) }));
    console.log(progress());
  }
  if (!well && !interrupted) console.error("a worker ended before its time");
  process.exit(interrupted ? 130 : well && wrong.length === 0 ? 0 : 1);
}

function tell(line: WorkerLine): void {
  console.log((line.tail ?? []).slice(-40).join("\n"));
  console.log(`seed ${line.seed}: ${line.wrong}`);
  console.log(`again: bun run simulate --seed ${line.seed} --hours ${hours} --agents ${agents} --trace\n`);
}

function figuresOf(counts: Record<string, number>): string {
  const width = Math.max(...Object.keys(counts).map((name) => name.length));
  return Object.entries(counts)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, count]) => `  ${name.padEnd(width)}  ${count}`)
    .join("\n");
}
