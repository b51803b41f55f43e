import { type BenchResult, type Figure, figuresOf, told } from "./figures.ts";

const width = 960;
const labelWidth = 250;
const rowHeight = 22;
const left = labelWidth + 20;
const right = width - 90;

/** Colours of both schemes; text keeps to the reader's. */
const style = `
  text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; }
  .note { fill: #57606a; }
  .ours { fill: #0969da; stroke: #0969da; }
  .limit { fill: #8c959f; stroke: #8c959f; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .one { stroke: #57606a; stroke-width: 1.5; }
  .page { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note { fill: #9198a1; }
    .ours { fill: #4493f8; stroke: #4493f8; }
    .grid { stroke: #30363d; }
    .one { stroke: #9198a1; }
    .page { fill: #0d1117; }
  }`;

/**
 * `docs/benchmarks.svg`: above, each figure's ratio to its limit; below, the distributions of the durations,
 * ours over the limit's. Both axes are logarithmic, since they span five powers of ten.
 */
export function renderPicture(results: readonly BenchResult[]): string {
  const figures = figuresOf(results);
  const ratios = figures.filter(({ row }) => row.ratio !== undefined && row.ratio > 0);
  const spreads = figures.filter(({ row }) => row.quantiles !== undefined);
  const ratioTop = 70;
  const spreadTop = ratioTop + ratios.length * rowHeight + 90;
  const height = spreadTop + spreads.length * rowHeight * 1.4 + 50;
  const body = [
    `<rect class="page" width="${width}" height="${height}"/>`,
    text(20, 28, "Ratio to the limit of the machine", "title"),
    text(20, 46, "ours divided by the limit's; for rates (1/s) more is better, for all others less", "note"),
    ...ratioPanel(ratios, ratioTop),
    text(20, spreadTop - 42, "Durations", "title"),
    legend(spreadTop - 24),
    ...spreadPanel(spreads, spreadTop),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${round(height)}" role="img">`,
    "<title>Benchmarks: ratios to the limits and distributions of durations</title>",
    `<style>${style}\n</style>`,
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

function ratioPanel(figures: readonly Figure[], top: number): string[] {
  const axis = logAxis(figures.map(({ row }) => row.ratio ?? 1).concat(1));
  const bottom = top + figures.length * rowHeight;
  return [
    ...axis.ticks.map((tick) => gridLine(axis.at(tick), top, bottom, `${tick}`)),
    ...figures.map((figure, index) => {
      const ratio = figure.row.ratio ?? 1;
      const y = top + index * rowHeight;
      const [from, to] = [axis.at(Math.min(1, ratio)), axis.at(Math.max(1, ratio))];
      return [
        text(20, y + 14, figure.title),
        `<rect class="ours" x="${round(from)}" y="${y + 4}" width="${round(Math.max(1, to - from))}" height="13" rx="2"/>`,
        text(right + 12, y + 14, `x ${told(ratio, "")}`, "note"),
      ].join("");
    }),
    `<line class="one" x1="${round(axis.at(1))}" x2="${round(axis.at(1))}" y1="${top}" y2="${bottom}"/>`,
  ];
}

function spreadPanel(figures: readonly Figure[], top: number): string[] {
  const step = rowHeight * 1.4;
  const values = figures.flatMap(({ row }) => [
    ...(row.quantiles?.ours ?? []),
    ...(row.quantiles?.limit ?? []),
  ]);
  const axis = logAxis(values.filter((value) => value > 0));
  const bottom = top + figures.length * step;
  return [
    ...axis.ticks.map((tick) => gridLine(axis.at(tick), top, bottom, told(tick, "ms"))),
    ...figures.map(({ title, row }, index) => {
      const y = top + index * step;
      const { ours = [], limit } = row.quantiles ?? {};
      return [
        text(20, y + 18, title),
        spread("ours", ours, y + 9, axis),
        limit === undefined ? "" : spread("limit", limit, y + 20, axis),
        text(right + 12, y + 18, told(row.value, row.unit), "note"),
      ].join("");
    }),
  ];
}

/** From the first to the last quantile, the middle half thick, the median a dot. */
function spread(whose: "ours" | "limit", quantiles: readonly number[], y: number, axis: Axis): string {
  const at = (index: number) => round(axis.at(Math.max(quantiles[index] ?? 0, axis.least)));
  const line = (from: number, to: number, thickness: number) =>
    `<line class="${whose}" x1="${at(from)}" x2="${at(to)}" y1="${round(y)}" y2="${round(y)}" stroke-width="${thickness}"/>`;
  return `${line(0, 8, 1.5)}${line(3, 5, 6)}<circle class="${whose}" cx="${at(4)}" cy="${round(y)}" r="4"/>`;
}

function legend(y: number): string {
  return [
    `<circle class="ours" cx="26" cy="${y - 4}" r="4"/>${text(36, y, "ours", "note")}`,
    `<circle class="limit" cx="86" cy="${y - 4}" r="4"/>`,
    text(
      96,
      y,
      "limit, in the same run; 1 % to 99 % of the samples, the middle half thick, the median a dot",
      "note",
    ),
  ].join("");
}

interface Axis {
  least: number;
  ticks: number[];
  /** The x of a value. */
  at(value: number): number;
}

/** Whole powers of ten around the values. */
function logAxis(values: readonly number[]): Axis {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    least: 10 ** from,
    ticks: Array.from({ length: to - from + 1 }, (_, index) => Number((10 ** (from + index)).toPrecision(1))),
    at: (value) => left + ((Math.log10(value) - from) / (to - from)) * (right - left),
  };
}

function gridLine(x: number, top: number, bottom: number, label: string): string {
  return `<line class="grid" x1="${round(x)}" x2="${round(x)}" y1="${top}" y2="${round(bottom)}"/><text class="note" x="${round(x)}" y="${round(bottom + 16)}" text-anchor="middle">${label}</text>`;
}

function text(x: number, y: number, words: string, kind?: string): string {
  return `<text${kind === undefined ? "" : ` class="${kind}"`} x="${round(x)}" y="${round(y)}">${words}</text>`;
}

const round = (value: number) => Math.round(value * 10) / 10;
