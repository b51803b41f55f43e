import { setTimeout as pause } from "node:timers/promises";
import { builtPrograms } from "../cli-fixture.ts";
import { randomFrom } from "../load.ts";
import { until } from "../until.ts";

/**
 * How long a run is and how much of a world there is. A run ends after `seconds` or `rounds`; in a world with
 * neither, once its load is done.
 */
export interface Size {
  seconds?: number;
  /** So many faults, one after the other as the world has them. */
  rounds?: number;
  agents?: number;
  items?: number;
}

/** What is started, asked, killed and judged. */
export interface World {
  name: string;
  /** Of the usage of `bun run chaos`: what goes on, and what must hold. */
  summary: string;
  /** What a run takes unless another is asked for; the world has no other measure. */
  size: Readonly<Size>;
  /** Starts everything; what it leaves in `run.stack` ends with the run. */
  start(run: Run): Promise<Experiment>;
}

export interface Experiment {
  /** Each goes on until `run.isOn()` says no. */
  load: readonly (() => Promise<void>)[];
  faults?: FaultPlan;
  /** What must hold now that nothing is broken any more: tells `run.problem` where it does not. */
  judge(): Promise<void>;
  /** Added to each line of progress. */
  status?: () => string;
}

export interface FaultPlan {
  /** Null where the dice choose what cannot be done now. Drawn in one order: a seed gives the same again. */
  next: () => Fault | null;
  /** Longest pause before a fault; default none. */
  maxPauseMs?: number;
  /** Default 1. */
  maxAtOnce?: number;
  /** Each `everyMs` nothing is injected until no fault is present and `check` has passed. */
  recovery?: { everyMs: number; check: () => Promise<void> };
}

export interface Fault {
  /** Two faults of one target are never present at once. */
  target: string;
  /** Resolves when the fault is undone. */
  inject: () => Promise<void>;
}

/** What a world is given. */
export interface Run {
  size: Required<Size>;
  stack: AsyncDisposableStack;
  /** Folder of the executables. */
  dist: string;
  /** The dice of the load. Those of the faults are others: how often the load throws depends on the machine. */
  random: () => number;
  faultRandom: () => number;
  isOn(): boolean;
  /** What must never be. */
  problem(text: string): void;
  figures: Record<string, number>;
  count(figure: string, by?: number): void;
  /** Waits for what must come; it is a problem when it does not. */
  expect(what: string, condition: () => boolean | Promise<boolean>, withinMs: number): Promise<void>;
}

export interface Report {
  /** What must never be; empty when all went well. */
  wrong: string[];
  figures: Record<string, number>;
  seconds: number;
  /** The command of the same run. */
  command: string;
}

export interface RunOptions extends Size {
  seed: number;
  /** Ends the run early; what there is by then is judged. */
  signal?: AbortSignal;
  onProgress?: (line: string) => void;
}

/** A run with more problems ends and is judged. */
const maxProblems = 20;
const progressEveryMs = 60_000;

/** Lets a world work and breaks it at random moments until the run is over, mends it and judges it. */
export async function runChaos(world: World, options: RunOptions): Promise<Report> {
  const size = sizeOf(world, options);
  const { seed, signal, onProgress = () => {} } = options;
  const beganMs = performance.now();
  const wrong = new Set<string>();
  const figures: Record<string, number> = {};
  let endMs = Number.POSITIVE_INFINITY;
  let isDone = false;
  let experiment = null as Experiment | null;
  let reportedMs = beganMs;
  const stack = new AsyncDisposableStack();
  const run: Run = {
    size: { seconds: 0, rounds: 0, agents: 0, items: 0, ...size },
    stack,
    dist: builtPrograms,
    random: randomFrom(seed + 1),
    faultRandom: randomFrom(seed),
    isOn: () => !isDone && !signal?.aborted && wrong.size <= maxProblems && performance.now() < endMs,
    problem: (text) => void wrong.add(text),
    figures,
    count(figure, by = 1) {
      figures[figure] = (figures[figure] ?? 0) + by;
    },
    expect: (what, condition, withinMs) =>
      until(what, condition, withinMs).then(
        () => {},
        (error: Error) => void wrong.add(error.message),
      ),
  };
  const guard = (what: string, work: () => Promise<void>) =>
    work().catch((error) => run.problem(`${what}: ${messageOf(error)}`));
  const seconds = () => Math.round((performance.now() - beganMs) / 1000);

  function report(): void {
    if (performance.now() - reportedMs < progressEveryMs) return;
    reportedMs = performance.now();
    const status = experiment?.status?.();
    const facts = [
      `${Math.floor(seconds() / 60)} min`,
      `${figures["faults"] ?? 0} faults`,
      `${wrong.size} problems`,
      ...(status === undefined ? [] : [status]),
    ];
    onProgress(facts.join(", "));
  }

  async function work(): Promise<void> {
    experiment = await world.start(run);
    const { load, faults, judge } = experiment;
    if (size.seconds !== undefined) endMs = performance.now() + size.seconds * 1000;
    const endsWithLoad = size.seconds === undefined && size.rounds === undefined;
    const loadEnd = Promise.all(load.map((one) => guard("load", one))).then(() => {
      if (endsWithLoad) isDone = true;
    });
    if (faults) await injectFaults(faults, run, size.rounds);
    if (size.rounds !== undefined) isDone = true;
    await loadEnd;
    await guard("judgement", judge);
  }

  const reporting = setInterval(report, 1000);
  await guard("the run", work);
  clearInterval(reporting);
  await guard("the end", () => stack.disposeAsync());
  return { wrong: [...wrong], figures, seconds: seconds(), command: commandOf(world, { ...size, seed }) };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Injects faults until the run or `rounds` are over, and waits until all are undone. */
export async function injectFaults(
  plan: FaultPlan,
  run: Pick<Run, "faultRandom" | "isOn" | "count" | "problem">,
  rounds = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { next, maxPauseMs = 0, maxAtOnce = 1, recovery } = plan;
  const present = new Map<string, Promise<void>>();
  let recoveryMs = performance.now() + (recovery?.everyMs ?? Number.POSITIVE_INFINITY);
  for (let injected = 0; run.isOn() && injected < rounds; ) {
    await pause(run.faultRandom() * maxPauseMs);
    if (performance.now() >= recoveryMs) {
      await Promise.all(present.values());
      await recovery?.check();
      recoveryMs = performance.now() + (recovery?.everyMs ?? 0);
    }
    const fault = next();
    if (!fault || present.has(fault.target)) continue;
    injected += 1;
    run.count("faults");
    const undone = fault
      .inject()
      .catch((error) => run.problem(`${fault.target}: ${messageOf(error)}`))
      .finally(() => present.delete(fault.target));
    present.set(fault.target, undone);
    if (present.size >= maxAtOnce) await Promise.race(present.values());
  }
  await Promise.all(present.values());
}

/** The size of a run; throws for a measure that the world does not have. */
export function sizeOf(world: World, asked: Size): Size {
  const size: Size = { ...world.size };
  for (const measure of ["seconds", "rounds", "agents", "items"] as const) {
    if (asked[measure] === undefined) continue;
    if (world.size[measure] === undefined) throw new Error(`the world ${world.name} has no ${measure}`);
    size[measure] = asked[measure];
  }
  return size;
}

function commandOf(world: World, measures: Size & { seed: number }): string {
  const flags = Object.entries(measures).map(([name, value]) => `--${name} ${value}`);
  return ["bun run chaos", world.name, ...flags].join(" ");
}

/** Prints a report, as one JSON document if so wished, and returns the exit code. */
export function printReport(report: Report, options: { json: boolean }): number {
  const { wrong, figures, seconds, command } = report;
  const isWell = wrong.length === 0;
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else {
    const width = Math.max(...Object.keys(figures).map((name) => name.length));
    for (const [name, value] of Object.entries(figures)) {
      const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(4));
      console.log(`  ${name.padEnd(width)}  ${rounded}`);
    }
    console.log(`${isWell ? "nothing was wrong" : `${wrong.length} problems`}, ${seconds} s`);
  }
  for (const problem of wrong) console.error(`wrong: ${problem}`);
  if (!isWell) console.error(`repeat with: ${command}`);
  return isWell ? 0 : 1;
}

/** A run with new dice within a test: throws what was wrong, with the command that repeats it. */
export async function checkChaos(world: World, size: Size): Promise<Report> {
  const report = await runChaos(world, { ...size, seed: Date.now() % 2 ** 31 });
  console.log(JSON.stringify(report.figures));
  if (report.wrong.length > 0)
    throw new Error([...report.wrong, `repeat with: ${report.command}`].join("\n"));
  return report;
}
