import type { Row } from "../../tests/bench/bench.ts";
import { type Meaning, meanings } from "./meaning.ts";

/** What one bench found. */
export interface BenchResult {
  name: string;
  machine: Record<string, string>;
  /** What a reader of the rows has to know: versions, sizes, and what has no row for which reason. */
  notes?: string[];
  rows: Row[];
}

/** A figure that counts, with what it means. */
export interface Figure extends Meaning {
  row: Row;
}

/** The figures that count among the results, in the order of the meanings. */
export function figuresOf(results: readonly BenchResult[]): Figure[] {
  return meanings.flatMap((meaning) => {
    const row = results
      .find(({ name }) => name === meaning.bench)
      ?.rows.find(({ metric }) => metric === meaning.metric);
    return row === undefined ? [] : [{ ...meaning, row }];
  });
}

/** Four digits: more would be noise. */
export function rounded(row: Row): Row {
  const short = (value: number) => Number(value.toPrecision(4));
  return {
    ...row,
    value: short(row.value),
    ...(row.limit === undefined ? {} : { limit: short(row.limit) }),
    ...(row.ratio === undefined ? {} : { ratio: short(row.ratio) }),
    ...(row.quantiles === undefined
      ? {}
      : {
          quantiles: Object.fromEntries(
            Object.entries(row.quantiles).map(([whose, values]) => [whose, values.map(short)]),
          ) as NonNullable<Row["quantiles"]>,
        }),
  };
}

/** `0.33 ms`, `21,800 1/s` as people read them: three digits, no exponent. */
export function told(value: number, unit: string): string {
  const digits = Number(value.toPrecision(3));
  const number = Math.abs(digits) >= 1000 ? digits.toLocaleString("en") : String(digits);
  return unit === "" ? number : `${number} ${unit}`;
}
