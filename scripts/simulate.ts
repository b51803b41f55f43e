import { parseArgs } from "node:util";
import { compileSchemasOnce } from "../tests/simulation/compile-once.ts";
import { ProcessGone } from "../tests/simulation/sim-process.ts";
import { simulate } from "../tests/simulation/simulation.ts";
import type { WorkerLine } from "../tests/simulation/worker.ts";
import { createWorkers } from "../tests/simulation/workers.ts";
import { bootstrap } from "./bootstrap.ts";

// `bun run simulate --seed N` runs one simulated world and says what went wrong in it, the same every time;
// `bun run simulate --seeds N` runs many. Exit code 0 when nothing was wrong, 1 when something was, 2 for wrong flags.

await bootstrap({ tmux: false });

const usage = `Usage: bun run simulate --seed N  [--hours H] [--agents N] [--trace] [--json]
       bun run simulate --seeds N [--from N] [--jobs N] [--hours H] [--agents N] [--json]

Agents, their gateways, tmux and time itself simulated from a seed, on real databases, with everything that can
go wrong: what must never be is looked for all the time. The same seed does the same again.

  --seed N    one world; --trace shows what happens in it
  --seeds N   so many worlds, from --from on (default 1), in --jobs processes (default 2)
  --hours H   simulated time of one world, before the calm at its end (default 0.1)
  --agents N  agents in one world (default 2)
  --json      one JSON document at the end
`;

const { values } = readFlags();
const hours = numberOf("hours", 0.1);
const agents = numberOf("agents", 2);
if (values.seed !== undefined) await runOne(numberOf("seed", 1));
else await runMany({ from: numberOf("from", 1), seeds: numberOf("seeds", 500), jobs: numberOf("jobs", 2) });

function readFlags() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      strict: true,
      options: {
        ...{ seed: text, seeds: text, from: text, jobs: text, hours: text, agents: text },
        ...{ trace: flag, json: flag, help: flag },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(why: string): never {
  console.error(`simulate: ${why}\n\n${usage}`);
  process.exit(2);
}

function numberOf(name: "seed" | "seeds" | "from" | "jobs" | "hours" | "agents", otherwise: number): number {
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const value = Number(values[name] ?? otherwise);
  const whole = name === "hours" || Number.isInteger(value);
  const least = name === "seed" || name === "from" || name === "hours" ? 0 : 1;
  return whole && value >= least ? value : refuse(`--${name} needs a number`);
}

async function runOne(seed: number): Promise<never> {
  compileSchemasOnce();
  const echo = values.trace && !values.json ? { echo: (line: string) => console.log(line) } : {};
  const stray = (error: unknown) => {
    if (!(error instanceof ProcessGone)) console.error("nobody caught", error);
  };
  process.on("unhandledRejection", stray).on("uncaughtException", stray);
  const report = await simulate({ seed, hours, agents, ...echo });
  await new Promise((resolve) => setTimeout(resolve));
  if (values.json) console.log(JSON.stringify(report, null, 2));
  else {
    if (report.wrong !== null && !values.trace) console.log(report.tail.join("\n"));
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
      if (!values.json) tell(line);
    }
    if (!values.json && done % 100 === 0) console.log(progress());
  });
  const seconds = (performance.now() - started) / 1000;
  const simulatedHours = simulatedMs / 3_600_000;
  if (values.json) {
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
