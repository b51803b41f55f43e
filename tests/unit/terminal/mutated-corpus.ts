import { createDice, type Dice } from "../../simulation/dice.ts";
import { type Labels, loadCorpus, observe, type Recording, read } from "./corpus.ts";
import { screenMutations, screenOverlays } from "./screen-mutations.ts";

interface MutatedCount {
  screens: number;
  /** Screens of agents that are not ready, and those that read as ready. */
  notReady: number;
  wrong: number;
  /** Screens of ready agents, and those that still read so. */
  ready: number;
  kept: number;
}

interface WrongScreen {
  seed: number;
  kinds: string;
  recording: string;
  text: string;
}

export interface MutatedRun {
  kinds: Map<string, MutatedCount>;
  total: MutatedCount;
  wrong: WrongScreen[];
}

/** What a prompt of the queue needs of a screen (ruling 7). */
const isReady = (labels: Labels): boolean =>
  labels.accepting_input === "yes" &&
  labels.editing_input === "no" &&
  labels.ready_posture === "yes" &&
  labels.pending_input === "no" &&
  labels.decision === null;

/**
 * Reads `screens` mutations of the recorded screens, with the seeds `seed`, `seed + 1` and so on; one seed
 * makes the same screen whatever the number. A screen whose agent was not ready when it was recorded must not
 * read as ready.
 */
export function runMutatedCorpus(options: { seed: number; screens: number }): MutatedRun {
  const corpus = loadCorpus();
  const run: MutatedRun = { kinds: new Map(), total: emptyCount(), wrong: [] };
  for (let nth = 0; nth < options.screens; nth++) {
    const seed = options.seed + nth;
    const dice = createDice(seed);
    const recording = dice.pick(corpus as [Recording, ...Recording[]]);
    const { observation, kinds, covered } = mutated(recording, dice);
    const { labels } = read(observation, recording.tool);
    const truth = !covered && isReady(recording.labels);
    const counts = [run.total, ...kinds.map((kind) => countOf(run, kind))];
    for (const count of counts) tally(count, truth, isReady(labels));
    if (truth || !isReady(labels)) continue;
    const text = observation.rows.map((row) => row.text.trimEnd()).join("\n");
    const name = `${recording.tool} ${recording.version} ${recording.name}`;
    run.wrong.push({ seed, kinds: kinds.join(" + "), recording: name, text });
  }
  return run;
}

function mutated(recording: Recording, dice: Dice) {
  // tmux always says where the cursor is.
  let observation = observe(recording);
  const covered = dice.chance(0.15);
  const kinds: string[] = [];
  // What is open beside a whole composer shows in some rows only; a screen without them is another one.
  const cuts = recording.category === "overlay" ? ["scrolled_up", "bottom_cut", "rows_lost"] : [];
  const apply = (table: typeof screenMutations) => {
    const names = Object.keys(table).filter((name) => !cuts.includes(name)) as [string, ...string[]];
    const name = dice.pick(names);
    kinds.push(name);
    observation = table[name]?.(observation, dice) ?? observation;
  };
  if (covered) apply(screenOverlays);
  const further = dice.pick(covered ? [0, 0, 1] : [1, 1, 1, 2, 2, 3]);
  for (let nth = 0; nth < further; nth++) apply(screenMutations);
  return { observation, kinds, covered };
}

const emptyCount = (): MutatedCount => ({ screens: 0, notReady: 0, wrong: 0, ready: 0, kept: 0 });

function countOf(run: MutatedRun, kind: string): MutatedCount {
  const known = run.kinds.get(kind) ?? emptyCount();
  run.kinds.set(kind, known);
  return known;
}

function tally(count: MutatedCount, truth: boolean, seen: boolean): void {
  count.screens += 1;
  count[truth ? "ready" : "notReady"] += 1;
  if (seen) count[truth ? "kept" : "wrong"] += 1;
}

/** A table of the kinds, for a person. */
export function describeMutatedRun(run: MutatedRun): string {
  const row = (cells: readonly (string | number)[]) =>
    cells.map((cell, at) => (at === 0 ? String(cell).padEnd(20) : String(cell).padStart(10))).join("");
  const counts = ([kind, count]: [string, MutatedCount]) =>
    row([kind, count.screens, count.notReady, count.wrong, count.ready, count.kept]);
  return [
    row(["kind", "screens", "not ready", "wrong", "ready", "kept"]),
    ...[...run.kinds].sort(([one], [other]) => one.localeCompare(other)).map(counts),
    counts(["all", run.total]),
  ].join("\n");
}
