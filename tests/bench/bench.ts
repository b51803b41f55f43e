/** One measured fact. A row with a limit was measured beside it, in the same run and on the same payload. */
export interface Row {
  metric: string;
  value: number;
  unit: string;
  /** What the machine gives when nothing of ours is in the way, in the same unit. */
  limit?: number;
  /** `value` / `limit`. */
  ratio?: number;
  /** Of a duration: the samples at `quantileShares`, ascending, and the limit's. */
  quantiles?: { ours: number[]; limit?: number[] };
}

/** Where a distribution is told: shares of the samples that are not above the value. */
export const quantileShares = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99] as const;

/** What a file `tests/bench/NAME.bench.ts` exports as its default. */
export interface Bench {
  name: string;
  /**
   * Everything it starts has ended when it resolves; rejects when something cannot be measured here. `note`
   * takes what a reader of the rows has to know: versions, sizes, and what has no row for which reason.
   */
  run(note: (line: string) => void): Promise<Row[]>;
}

/** Something whose duration is measured once a round. */
export interface Contestant {
  name: string;
  run(): Promise<unknown> | unknown;
}

/**
 * Lets the contestants take turns, so that a noisy moment of the machine meets all of them: in every round
 * each runs once, the order turning by one. Rounds of the warm-up are not counted. Durations in ms, by name,
 * in order.
 */
export async function takeTurns(
  contestants: readonly Contestant[],
  options: { rounds: number; warmUp: number },
): Promise<Record<string, number[]>> {
  const durations = Object.fromEntries(contestants.map(({ name }): [string, number[]] => [name, []]));
  for (let round = 0; round < options.warmUp + options.rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(round + turn) % contestants.length];
      if (!contestant) continue;
      const started = performance.now();
      await contestant.run();
      const duration = performance.now() - started;
      if (round >= options.warmUp) durations[contestant.name]?.push(duration);
    }
  }
  return durations;
}

/** The smallest sample that at least this share (0..1) of all samples does not exceed; NaN for none. */
export function percentile(samples: readonly number[], share: number): number {
  return atShare(
    samples.toSorted((a, b) => a - b),
    share,
  );
}

function atShare(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/**
 * Rows `<subject>_p50_ms`, which carries the distribution, and `<subject>_p99_ms`, beside a limit's where its
 * samples are given. `subject` may instead make the name of "p50" and "p99".
 */
export function durationRows(
  subject: string | ((percentile: string) => string),
  samples: readonly number[],
  limit?: readonly number[],
): Row[] {
  return [50, 99].map((percent) => {
    const name = `p${percent}`;
    const metric = typeof subject === "string" ? `${subject}_${name}_ms` : subject(name);
    const plain: Row = { metric, value: percentile(samples, percent / 100), unit: "ms" };
    const row = limit === undefined ? plain : withLimit(plain, percentile(limit, percent / 100));
    return percent === 50 ? { ...row, quantiles: quantilesOf(samples, limit) } : row;
  });
}

function quantilesOf(samples: readonly number[], limit?: readonly number[]): NonNullable<Row["quantiles"]> {
  const of = (some: readonly number[]) => {
    const sorted = some.toSorted((a, b) => a - b);
    return quantileShares.map((share) => atShare(sorted, share));
  };
  return { ours: of(samples), ...(limit === undefined ? {} : { limit: of(limit) }) };
}

/** The row beside its limit, which is in the same unit. */
export function withLimit(row: Row, limit: number): Row {
  return { ...row, limit, ratio: row.value / limit };
}

/** Wall-clock milliseconds with fraction: one clock for all processes of the machine. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}
