import { quantileShares } from "../../tests/bench/bench.ts";
import { type BenchResult, type Figure, figuresOf, told } from "./figures.ts";
import { reaches } from "./meaning.ts";

/**
 * `docs/benchmarks.md`: the figures that count, what each means, before and after, and all rows of the run.
 */
export function renderDocument(
  results: readonly BenchResult[],
  before: readonly BenchResult[],
  quick: boolean,
): string {
  const figures = figuresOf(results);
  const earlier = figuresOf(before);
  const beforeOf = ({ bench, metric }: Figure) =>
    earlier.find((one) => one.bench === bench && one.metric === metric);
  const lines = figures.map((figure) => {
    const { row } = figure;
    const old = beforeOf(figure);
    const met = reaches(figure, row);
    return [
      `${figure.bench} \`${figure.metric}\``,
      figure.what,
      old === undefined ? "" : cell(old),
      cell(figure),
      row.limit === undefined ? "" : told(row.limit, row.unit),
      row.ratio === undefined ? "" : told(row.ratio, ""),
      aimOf(figure),
      met === null ? "" : met ? "yes" : "**no**",
    ].join(" | ");
  });
  const limits = figures.flatMap(({ bench, metric, limit }) =>
    limit === undefined ? [] : [`- ${bench} \`${metric}\`: ${limit}`],
  );
  const tables = results.flatMap(({ name, rows }) => [
    `### ${name}`,
    "",
    "| metric | ours | limit | ratio |",
    "|---|---|---|---|",
    ...rows.map(
      ({ metric, value, unit, limit, ratio }) =>
        `| \`${metric}\` | ${told(value, unit)} | ${limit === undefined ? "" : told(limit, unit)} | ${ratio ?? ""} |`,
    ),
    "",
  ]);
  return [
    "<!-- Written by `bun run bench`. -->",
    "# Benchmarks",
    "",
    `Figures of \`bun run bench\` on: ${Object.values(results[0]?.machine ?? {}).join(", ")}.`,
    ...(quick
      ? ["A quick run: few rounds and small data, so the figures are rough and sizes smaller than told."]
      : []),
    "",
    "Each figure stands beside its limit: what the machine gives when nothing of ours is in the way, measured in the",
    "same run and in turns with ours, on the same payload and file system. The ratio is ours divided by the limit's.",
    "Absolute figures move with the machine and its neighbours; ratios move less. *Before* is an earlier run on a",
    "machine of the same kind (`tests/bench/baseline.json`). What made the difference is told in",
    "[performance.md](performance.md).",
    "",
    "![Ratios to the limits, and distributions of durations](benchmarks.svg)",
    "",
    "| figure | what it is | before | now | limit | ratio | aim | reached |",
    "|---|---|---|---|---|---|---|---|",
    ...lines.map((line) => `| ${line} |`),
    "",
    "The limits:",
    "",
    ...limits,
    "",
    `In the picture a distribution runs from the ${quantileShares[0] * 100} % to the ${quantileShares[8] * 100} % quantile;`,
    "its thick part is the middle half of the samples.",
    "",
    "## All rows",
    "",
    ...tables,
  ].join("\n");
}

function cell({ row, aim }: Figure): string {
  const value = told(row.value, row.unit);
  return aim?.of === "ratio" && row.ratio !== undefined ? `${value} (x ${told(row.ratio, "")})` : value;
}

function aimOf({ aim, row }: Figure): string {
  if (aim === undefined) return "";
  const sign = aim.atMost === undefined ? "≥" : "≤";
  const figure = aim.atMost ?? aim.atLeast ?? Number.NaN;
  return aim.of === "ratio" ? `ratio ${sign} ${figure}` : `${sign} ${told(figure, row.unit)}`;
}
