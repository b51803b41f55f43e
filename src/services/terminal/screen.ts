import type { ProcessFacts } from "../../system/processes.ts";

type Style = Omit<Span, "text">;

const plainStyle: Style = {
  foreground: null,
  background: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
};

/** The line-drawing letters that a terminal shows between SO and SI, as Unicode. */
const lineDrawing: Readonly<Record<string, string>> = {
  a: "▒",
  f: "°",
  g: "±",
  h: "#",
  j: "┘",
  k: "┐",
  l: "┌",
  m: "└",
  n: "┼",
  q: "─",
  t: "├",
  u: "┤",
  v: "┴",
  w: "┬",
  x: "│",
  "`": "◆",
  "~": "·",
};

// One token: OSC (ended by BEL or ST), CSI, a charset or other short escape, SO or SI, or plain text.
const token =
  /\x1b\](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\)?|\x1b\[([0-9:;<=>?]*)[ -/]*([@-~])?|\x1b[()*+].?|\x1b.?|[\x0e\x0f]|[^\x1b\x0e\x0f]+/gs;

/**
 * Reads a `capture-pane -p -e` text. One row for each line; a final line feed opens no row. Styling carries
 * over from row to row, as tmux writes it. Links (OSC 8) and unknown sequences vanish. Never throws.
 */
export function parseScreen(raw: string): Row[] {
  if (raw === "") return [];
  const lines = raw.replaceAll("\r", "").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const pen = { style: plainStyle, drawing: false };
  return lines.map((line) => parseRow(line, pen));
}

function parseRow(line: string, pen: { style: Style; drawing: boolean }): Row {
  const spans: Span[] = [];
  for (const [part, parameters, final] of line.matchAll(token)) {
    if (part === "\x0e") pen.drawing = true;
    else if (part === "\x0f") pen.drawing = false;
    else if (part.startsWith("\x1b")) {
      if (final === "m") pen.style = applySgr(pen.style, parameters ?? "");
    } else {
      const text = pen.drawing
        ? [...part].map((character) => lineDrawing[character] ?? character).join("")
        : part;
      spans.push({ text: text.replaceAll("\u00a0", " "), ...pen.style });
    }
  }
  return { text: spans.map((span) => span.text).join(""), spans };
}

/** Colour of `38` or `48` at `at`: the value and how many parameters it took. */
function extendedColour(codes: readonly number[], at: number): { colour: string | null; used: number } {
  const byte = (offset: number) => Math.min(255, Math.max(0, codes[at + offset] ?? 0));
  if (codes[at + 1] === 5) return { colour: `palette:${byte(2)}`, used: 3 };
  if (codes[at + 1] === 2) {
    const hex = [byte(2), byte(3), byte(4)].map((value) => value.toString(16).padStart(2, "0")).join("");
    return { colour: `#${hex}`, used: 5 };
  }
  return { colour: null, used: codes.length - at };
}

const basicColour = (code: number, base: number) => `palette:${code - base}`;

function applySgr(before: Style, parameters: string): Style {
  let style = { ...before };
  // A colon group is one parameter with its own fields: 38:2::r:g:b has an empty colour space.
  for (const group of groupParameters(parameters)) {
    for (let at = 0; at < group.length; ) {
      const code = group[at] ?? 0;
      if (code === 38 || code === 48) {
        const { colour, used } = extendedColour(group, at);
        if (code === 38) style.foreground = colour;
        else style.background = colour;
        at += used;
        continue;
      }
      style = applySimple(style, code);
      at += 1;
    }
  }
  return style;
}

function groupParameters(parameters: string): number[][] {
  const groups: number[][] = [];
  let simple: number[] = [];
  for (const parameter of parameters.split(";")) {
    if (!parameter.includes(":")) {
      simple.push(Number(parameter) || 0);
      continue;
    }
    if (simple.length > 0) groups.push(simple);
    simple = [];
    const fields = parameter.split(":");
    if (fields[0] === "4") groups.push([fields[1] === "0" ? 24 : 4]);
    else {
      const withSpace = fields[1] === "2" && fields.length > 5;
      groups.push(
        (withSpace ? [...fields.slice(0, 2), ...fields.slice(3)] : fields).map((f) => Number(f) || 0),
      );
    }
  }
  if (simple.length > 0) groups.push(simple);
  return groups;
}

function applySimple(style: Style, code: number): Style {
  if (code === 0) return { ...plainStyle };
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 7) return { ...style, inverse: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 27) return { ...style, inverse: false };
  if (code >= 30 && code <= 37) return { ...style, foreground: basicColour(code, 30) };
  if (code === 39) return { ...style, foreground: null };
  if (code >= 40 && code <= 47) return { ...style, background: basicColour(code, 40) };
  if (code === 49) return { ...style, background: null };
  if (code >= 90 && code <= 97) return { ...style, foreground: basicColour(code, 82) };
  if (code >= 100 && code <= 107) return { ...style, background: basicColour(code, 92) };
  return style;
}

export const isBlank = (row: Row | undefined): boolean => row === undefined || row.text.trim() === "";

/** Rows without styling and trailing blanks, joined by line feeds; blank rows at the end are dropped. */
export function plainText(rows: readonly Row[]): string {
  return rows
    .map((row) => row.text.trimEnd())
    .join("\n")
    .trimEnd();
}

/** The first run with something to see, or null on a blank row. */
export const firstVisible = (row: Row): Span | null =>
  row.spans.find((span) => span.text.trim() !== "") ?? null;

/** The background of most of the row's characters. */
export function commonBackground(row: Row): string | null {
  const widths = new Map<string | null, number>();
  for (const span of row.spans) {
    widths.set(span.background, (widths.get(span.background) ?? 0) + span.text.length);
  }
  return [...widths].sort((one, other) => other[1] - one[1])[0]?.[0] ?? null;
}

/** The row's spans from character `from` on (UTF-16 units of `row.text`). */
export function spansFrom(row: Row, from: number): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const span of row.spans) {
    const cut = Math.max(0, from - at);
    if (cut < span.text.length) spans.push(cut === 0 ? span : { ...span, text: span.text.slice(cut) });
    at += span.text.length;
  }
  return spans;
}

const basicRgb: readonly (readonly [number, number, number])[] = [
  [0, 0, 0],
  [205, 0, 0],
  [0, 205, 0],
  [205, 205, 0],
  [0, 0, 238],
  [205, 0, 205],
  [0, 205, 205],
  [229, 229, 229],
  [127, 127, 127],
  [255, 0, 0],
  [0, 255, 0],
  [255, 255, 0],
  [92, 92, 255],
  [255, 0, 255],
  [0, 255, 255],
  [255, 255, 255],
];
const cubeStep = (value: number) => (value === 0 ? 0 : 55 + value * 40);

/** Red, green and blue of a span's colour, 0-255; null for the terminal's default. */
function rgbOf(colour: string | null): readonly [number, number, number] | null {
  if (colour === null) return null;
  if (colour.startsWith("#")) {
    const value = Number.parseInt(colour.slice(1), 16);
    return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  }
  const index = Number(colour.slice("palette:".length));
  if (index < 16) return basicRgb[index] ?? null;
  if (index >= 232) return [8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10];
  const cube = index - 16;
  return [cubeStep(Math.floor(cube / 36)), cubeStep(Math.floor(cube / 6) % 6), cubeStep(cube % 6)];
}

/** Amber and orange are not red: warnings and questions are drawn in them. */
export function isRed(span: Span): boolean {
  const rgb = rgbOf(span.foreground);
  return rgb !== null && rgb[0] - Math.max(rgb[1], rgb[2]) > 80;
}

/**
 * Red or pink: claude 2.1.150 draws errors in #ff6b80, and in 211 of 256 colours. Amber and orange are
 * neither.
 */
export function isReddish(span: Span): boolean {
  const rgb = rgbOf(span.foreground);
  return rgb !== null && rgb[0] - rgb[1] > 80 && rgb[0] - rgb[2] >= 60 && rgb[2] + 20 >= rgb[1];
}

/** Dim, or a grey that is darker than the text colour of a dark theme. */
export function isMuted(span: Span): boolean {
  if (span.dim) return true;
  const rgb = rgbOf(span.foreground);
  if (rgb === null) return false;
  return Math.max(...rgb) - Math.min(...rgb) <= 16 && Math.max(...rgb) <= 200;
}

/** A run of characters of one style, as `capture-pane -e` shows it. */
export interface Span {
  text: string;
  /** `null` is the terminal's default; otherwise `palette:0`..`palette:255` or `#rrggbb`. */
  foreground: string | null;
  background: string | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

/** One visible row; `text` is the spans joined. Trailing blanks are kept as tmux gives them. */
export interface Row {
  text: string;
  spans: readonly Span[];
}

/** What tmux says of the pane at the moment of the capture. */
export interface PaneFacts {
  paneId: string;
  panePid: number;
  dead: boolean;
  /** Copy mode or another mode that takes the keys away from the program. */
  inMode: boolean;
  width: number;
  height: number;
  alternateScreen: boolean;
  /** Null when the program or the shell never set one, or it is the host's default. */
  title: string | null;
  windowName: string;
}

/** Everything a detector may look at: one moment of one pane. */
export interface Observation {
  /** Wall clock, epoch milliseconds. */
  atMs: number;
  /** Raw `capture-pane -p -e` of the visible screen. */
  raw: string;
  /** Visible rows, top first. */
  rows: readonly Row[];
  /** Row and column from 0; null, or a column that is, when not known (older recordings). */
  cursor: { row: number; column: number | null } | null;
  pane: PaneFacts;
  /** Process tree of the pane, its root first; null when it could not be read. */
  processes: readonly ProcessFacts[] | null;
}
