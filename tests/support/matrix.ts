import { test } from "bun:test";
import { relative } from "node:path";
import { type FaultRow, recordFaultRows } from "./fault-table.ts";

/** Environment: `N/SEED`, so many cases of each matrix, chosen by the seed; not set, each case runs. */
const sampleVariable = "SVC_TEST_SAMPLE";
/** Environment: the id of the one case that runs. */
const caseVariable = "SVC_TEST_CASE";

const repositoryRoot = `${import.meta.dir}/../..`;

/** Which cases of a matrix run. `case` wins over `sample`. */
export interface MatrixChoice {
  sample: { count: number; seed: string } | null;
  case: string | null;
}

/** Throws for a sample that is not `N/SEED`. */
export function readMatrixChoice(environment: Readonly<Record<string, string | undefined>>): MatrixChoice {
  const sample = environment[sampleVariable];
  const [, count, seed] = /^(\d{1,3})\/([\w-]+)$/.exec(sample ?? "") ?? [];
  if (sample !== undefined && seed === undefined) throw new Error(`${sampleVariable}=${sample}: not N/SEED`);
  return {
    sample: seed === undefined ? null : { count: Number(count), seed },
    case: environment[caseVariable] ?? null,
  };
}

/**
 * The cases that run, in their order. A sample takes those whose ids have the lowest hash with the seed:
 * another seed takes others, and a new case changes no more than one of a sample.
 */
export function chooseCases<Case>(
  cases: readonly Case[],
  toId: (one: Case) => string,
  choice: MatrixChoice,
): Case[] {
  if (choice.case !== null) return cases.filter((one) => toId(one) === choice.case);
  if (choice.sample === null) return [...cases];
  const { count, seed } = choice.sample;
  const ranked = cases
    .map((one, at) => ({ at, rank: Bun.hash.wyhash(`${seed} ${toId(one)}`) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1));
  const taken = new Set(ranked.slice(0, count).map(({ at }) => at));
  return cases.filter((_, at) => taken.has(at));
}

/** What the environment of this run chose. */
export const matrixChoice: MatrixChoice = readMatrixChoice(process.env);

/** All; of a sample one of them, for cases with each of which a whole file runs. */
export function chooseOne<Case>(cases: readonly Case[], toId: (one: Case) => string): Case[] {
  const { sample } = matrixChoice;
  return chooseCases(cases, toId, { sample: sample === null ? null : { ...sample, count: 1 }, case: null });
}

/** Whether this run looks at every case: what only holds for all of them together is expected then alone. */
export const isWholeMatrix = matrixChoice.case === null && matrixChoice.sample === null;

export interface Matrix<Case> {
  /** The name of the matrix in `docs/faults.md`. */
  name: string;
  rows?: FaultRow | readonly FaultRow[];
  /** Not asked for while only the rows are collected: finding them may start processes. */
  cases: () => Promise<readonly Case[]> | readonly Case[];
  toId(one: Case): string;
  run(one: Case): Promise<void>;
  /** How many cases run at once. */
  lanes: number;
  timeoutMs: number;
}

/**
 * One test for each case that runs, so that a failure names its case and the command that repeats it. Cases
 * run in lanes beside each other from the first test on; each test waits for its own. Returns the cases that
 * run.
 */
export async function matrixTests<Case>(matrix: Matrix<Case>): Promise<Case[]> {
  if (matrix.rows !== undefined && recordFaultRows(matrix.name, matrix.rows)) return [];
  const chosen = chooseCases(await matrix.cases(), matrix.toId, matrixChoice);
  // Read while the file is loaded: later it may be another one's.
  const file = relative(repositoryRoot, Bun.main);
  const results = lazily(() => runInLanes(chosen, matrix.lanes, matrix.run));
  chosen.forEach((one, at) => {
    const id = matrix.toId(one);
    test(
      `${matrix.name}: ${id}`,
      async () => {
        try {
          await results()[at];
        } catch (error) {
          console.log(`to repeat it: bun run test --case='${id}' ${file}`);
          throw error;
        }
      },
      matrix.timeoutMs,
    );
  });
  return chosen;
}

/**
 * Begins all of `items` in their order, `lanes` at once. Each result is settled alone; none is reported as
 * unhandled.
 */
export function runInLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void>[] {
  const settled = items.map(() => Promise.withResolvers<void>());
  for (const { promise } of settled) promise.catch(() => {});
  const pending = [...items.entries()];
  const lane = async () => {
    for (let next = pending.shift(); next; next = pending.shift()) {
      const [index, item] = next;
      await work(item, index).then(settled[index]?.resolve, settled[index]?.reject);
    }
  };
  for (let nth = 0; nth < lanes; nth++) void lane();
  return settled.map(({ promise }) => promise);
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
