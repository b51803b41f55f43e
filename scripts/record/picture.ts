import { parseScreen, type Row, type Span } from "../../src/services/terminal/screen.ts";
import type { Recording } from "./story.ts";

const cell = { width: 8, height: 18, size: 13.3 };
const edge = 14;
const bar = 30;

/** A row of a screen as it stands for a while: from moment `from` on, until moment `until`. */
interface Stay {
  row: Row;
  x: number;
  y: number;
  from: number;
  until: number;
}

/**
 * A recording as an SVG that plays it in a loop. Where nothing may move, or CSS animation is not known, it
 * shows the moment in which the most is on both screens. Pure: the same recording gives the same text.
 */
export function renderPicture(recording: Recording): string {
  const { moments, columns } = recording;
  const starts = moments.map((_, index) => sum(moments.slice(0, index).map((one) => one.seconds)));
  const total = sum(moments.map((one) => one.seconds));
  const still = stillMoment(recording);
  const width = columns * cell.width + 2 * edge;
  const upper = bar + recording.shell_rows * cell.height + edge;
  const agentTop = upper + edge;
  const lower = bar + recording.agent_rows * cell.height + edge;
  const stays = [
    ...staysOf(
      moments.map((one) => one.shell),
      bar,
    ),
    ...staysOf(
      moments.map((one) => one.agent),
      agentTop + bar,
    ),
  ];
  const spans = new Map(stays.map((stay) => [`p${stay.from}-${stay.until}`, stay]));
  const percent = (moment: number) => round((100 * (starts[moment] ?? total)) / total);
  const rules = [...spans].map(([name, { from, until }]) => {
    const always = from === 0 && until === moments.length;
    const hidden = from === 0 ? "" : "0%{visibility:hidden}";
    const ends = until === moments.length ? "" : `${percent(until)}%{visibility:hidden}`;
    const shown = `${percent(from)}%{visibility:visible}`;
    const rest = from <= still && still < until ? "visible" : "hidden";
    const play = always ? "" : `;animation:${name} ${total}s step-end infinite`;
    return `@keyframes ${name}{${hidden}${shown}${ends}}.${name}{visibility:${rest}${play}}`;
  });
  const title = "A terminal session: an agent is launched, given a prompt, and stopped";
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 ${width} ${agentTop + lower}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<desc>${escaped(commandsOf(recording))}</desc>`,
    "<style>",
    `text{font:${cell.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dde5;white-space:pre}`,
    ".b{font-weight:700}.d{fill:#8b949e}.c1{fill:#ff7b72}.c2{fill:#7ee787}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#56d4dd}.k{fill:#8b949e;font-size:12px}",
    ...rules,
    "@media (prefers-reduced-motion:reduce){text{animation:none!important}}",
    "</style>",
    ...frame(0, upper, width, "your shell"),
    ...frame(agentTop, lower, width, "the agent's terminal, which you may attach to at any time"),
    ...stays.flatMap(drawStay),
    "</svg>",
  ].join("\n")}\n`;
}

/** The moment that is shown when nothing moves: a finished command, with the fullest agent's screen. */
function stillMoment({ moments }: Recording): number {
  const fullness = moments.map((one) => (one.kind === "done" ? one.agent.length : 0));
  return fullness.lastIndexOf(Math.max(...fullness));
}

function staysOf(screens: string[], top: number): Stay[] {
  const parsed = screens.map((screen) => parseScreen(screen));
  const rows = Math.max(...parsed.map((screen) => screen.length));
  return Array.from({ length: rows }, (_, index) => {
    const stays: Stay[] = [];
    for (const [moment, screen] of parsed.entries()) {
      const row = screen[index];
      const last = stays.at(-1);
      if (!row || row.text.trim() === "") continue;
      if (last?.until === moment && sameRow(last.row, row)) last.until++;
      else stays.push({ row, x: edge, y: top + (index + 1) * cell.height, from: moment, until: moment + 1 });
    }
    return stays;
  }).flat();
}

function sameRow(one: Row, other: Row): boolean {
  return JSON.stringify(one.spans) === JSON.stringify(other.spans);
}

function drawStay({ row, x, y, from, until }: Stay): string[] {
  let column = 0;
  return row.spans.flatMap((span, index) => {
    const text = index === row.spans.length - 1 ? span.text.trimEnd() : span.text;
    const at = x + column * cell.width;
    column += span.text.length;
    if (text.trim() === "") return [];
    // The length is told, so that columns stay columns in any font.
    const length = `textLength="${text.length * cell.width}" lengthAdjust="spacingAndGlyphs"`;
    const classes = [`p${from}-${until}`, ...classesOf(span)].join(" ");
    return [`<text class="${classes}" x="${at}" y="${y}" ${length}>${escaped(text)}</text>`];
  });
}

function classesOf(span: Span): string[] {
  const colour = /^palette:([1-6])$/.exec(span.foreground ?? "")?.[1];
  return [span.bold ? "b" : "", span.dim ? "d" : "", colour ? `c${colour}` : ""].filter((one) => one !== "");
}

function frame(top: number, height: number, width: number, title: string): string[] {
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, index) => `<circle cx="${edge + 6 + index * 16}" cy="${top + 15}" r="5" fill="${fill}"/>`,
  );
  return [
    `<rect x=".5" y="${top + 0.5}" width="${width - 1}" height="${height - 1}" rx="8" fill="#0d1117" stroke="#444c56"/>`,
    ...dots,
    `<text class="k" x="${width / 2}" y="${top + 19}" text-anchor="middle">${escaped(title)}</text>`,
  ];
}

function commandsOf({ moments }: Recording): string {
  return moments
    .filter((one) => one.kind === "done")
    .map((one) => one.command)
    .join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);
const round = (value: number) => Math.round(value * 100) / 100;
