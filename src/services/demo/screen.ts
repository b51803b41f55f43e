import { cutText, widthOf, wrapText } from "../../system/text-columns.ts";
import { isEmpty, shownText } from "./composer.ts";
import { demoCommands, demoSignature as signature } from "./signature.ts";
import { type Cell, type DemoState, type Dialog, spinnerStep, streamedWords, type Turn } from "./state.ts";
export interface Size {
  cols: number;
  rows: number;
}

/** The whole wanted screen: styled rows from the top, cursor from 0, and the pane's title. */
export interface Frame {
  rows: readonly string[];
  cursor: { row: number; col: number };
  title: string;
}

const bold = (text: string) => `\x1b[1m${text}\x1b[22m`;
const dim = (text: string) => `\x1b[2m${text}\x1b[22m`;
const cyan = (text: string) => `\x1b[36m${text}\x1b[39m`;

/**
 * Renders the screen; `signature.ts` says what stays recognisable. What does not fit is left out from the top
 * of the transcript first, then from the top of the composer.
 */
export function render(state: DemoState, size: Size): Frame {
  const cols = Math.max(size.cols, 8);
  const above = statusRows(state, cols);
  const { phase } = state;
  const block =
    phase.kind === "dialog"
      ? dialogBlock(phase.dialog, cols)
      : composerBlock(state, cols, Math.max(1, size.rows - above.length - 3));
  const room = size.rows - above.length - block.rows.length;
  const top = room > 1 ? [...transcriptRows(state, cols, room - 1), ""] : [];
  const rows = [...top, ...above, ...block.rows].slice(-size.rows);
  const row = Math.max(0, rows.length - block.rows.length + block.cursor.row);
  return { rows, cursor: { row, col: Math.min(block.cursor.col, size.cols - 1) }, title: titleOf(state) };
}

interface Block {
  rows: string[];
  /** From the block's first row. */
  cursor: { row: number; col: number };
}

function statusRows(state: DemoState, cols: number): string[] {
  const { phase, nowMs, queue } = state;
  const rows: string[] = [];
  if (phase.kind === "busy") {
    const seconds = Math.floor((nowMs - phase.turn.startedMs) / 1000);
    const hint = `(${seconds}s · ${signature.statusHint})`;
    rows.push(`${cyan(spinnerFrame(phase.turn, nowMs))} ${signature.statusLabel} ${dim(hint)}`);
  }
  const queued = queue.slice(0, 3).map((item) => cutText(`${signature.queuedPrefix}${item.text}`, cols));
  return [...rows, ...queued.map(dim)];
}

function composerBlock(state: DemoState, cols: number, maxRows: number): Block {
  const rule = signature.ruleGlyph.repeat(cols);
  const footer = dim(state.exitArmedUntilMs === null ? signature.footer : signature.footerExitArmed);
  const { composerGlyph: glyph, continuationIndent: indent } = signature;
  if (isEmpty(state.composer)) {
    const row = `${bold(glyph)}${dim(signature.placeholder)}`;
    return { rows: [rule, row, rule, footer], cursor: { row: 1, col: widthOf(glyph) } };
  }
  const shown = shownText(state.composer);
  // One column stays free, so that the cursor behind the last character has a place.
  const draft = wrapText(shown, cols - widthOf(glyph) - 1);
  const popup = popupRows(shown, cols).slice(0, Math.max(0, maxRows - 1));
  const visible = draft.slice(-Math.max(1, maxRows - popup.length));
  const lines = visible.map((line, index) => (index === 0 ? bold(glyph) : indent) + line);
  const col = widthOf(glyph) + widthOf(visible.at(-1) ?? "");
  return { rows: [rule, ...lines, ...popup, rule, footer], cursor: { row: visible.length, col } };
}

/** The commands that begin with the typed text, while it is a slash and a word. */
function popupRows(shown: string, cols: number): string[] {
  if (!/^\/[a-z-]*$/.test(shown)) return [];
  return demoCommands
    .filter(({ name }) => name.startsWith(shown))
    .map(({ name, summary }) => dim(cutText(`  ${name.padEnd(10)}${summary}`, cols)));
}

function dialogBlock(dialog: Dialog, cols: number): Block {
  const rule = signature.ruleGlyph.repeat(cols);
  const options = dialog.options.map((label, index) => {
    const selected = index === dialog.selected;
    const row = `${selected ? signature.selectedPrefix : signature.optionPrefix}${index + 1}. ${label}`;
    return selected ? cyan(row) : row;
  });
  return {
    rows: [rule, bold(cutText(dialog.question, cols)), ...options, rule, dim(signature.footerDialog)],
    cursor: { row: 2 + dialog.selected, col: 0 },
  };
}

function titleOf(state: DemoState): string {
  const { phase, nowMs, interference } = state;
  if (phase.kind === "dialog") return signature.titleDecision;
  if (phase.kind !== "busy" || interference?.hidesWork) return signature.titleReady;
  return `${spinnerFrame(phase.turn, nowMs)} ${signature.titleBusy}`;
}

function spinnerFrame(turn: Turn, nowMs: number): string {
  const { spinnerFrames } = signature;
  return spinnerFrames[spinnerStep(turn, nowMs) % spinnerFrames.length] ?? spinnerFrames[0];
}

const VOCABULARY = [
  "the change keeps every row in order and says why it waits",
  "first the file is read then the plan is made and then it is done",
  "nothing here needs a model so the same prompt gives the same words",
  "each step is small enough to be looked at and none is left out",
].flatMap((sentence) => sentence.split(" "));
const WORDS_IN_LINE = 14;
const MOST_USER_ROWS = 8;
const STYLES = { plain: "", dim: "\x1b[2m", error: "\x1b[31m" } as const;

/** The last rows of the transcript, at most `max` of them; cells are one blank row apart. */
function transcriptRows(state: DemoState, cols: number, max: number): string[] {
  const cells = [...state.cells];
  if (state.phase.kind === "busy") {
    const { turn } = state.phase;
    const words = streamedWords(turn, state.nowMs);
    if (words > 0 && turn.number !== null) cells.push({ kind: "answer", turn: turn.number, words });
  }
  const rows: string[] = [];
  let below: Cell | null = null;
  for (const cell of cells.reverse()) {
    if (rows.length >= max) break;
    const apart = below !== null && !(cell.kind === "note" && below.kind === "note");
    rows.unshift(...cellRows(cell, cols, max), ...(apart ? [""] : []));
    below = cell;
  }
  return rows.slice(-max);
}

function cellRows(cell: Cell, cols: number, max: number): string[] {
  switch (cell.kind) {
    case "banner":
      return [
        `\x1b[1m${signature.banner}\x1b[22m`,
        `\x1b[2m${cutText(`scripted, without a model · session ${cell.session}`, cols)}\x1b[22m`,
      ];
    case "user":
      return userRows(cell.text, cols);
    case "answer":
      return cell.text === undefined
        ? answerRows(cell.turn, cell.words, cols, max)
        : textRows(cell.text, cols).slice(-max);
    case "note":
      return [`${STYLES[cell.tone]}${cutText(cell.text, cols)}\x1b[0m`];
  }
}

function userRows(text: string, cols: number): string[] {
  const lines = text.split("\n");
  const few = lines
    .slice(0, MOST_USER_ROWS)
    .join("\n")
    .slice(0, MOST_USER_ROWS * cols);
  const rows = wrapText(few, cols - signature.userPrefix.length).slice(0, MOST_USER_ROWS);
  if (few.length < text.length) rows.push("…");
  return rows.map((row, index) => (index === 0 ? signature.userPrefix : "  ") + row);
}

function textRows(text: string, cols: number): string[] {
  const rows = text.split("\n").flatMap((line) => wrapText(line, cols - signature.answerPrefix.length));
  return rows.map((row, index) => (index === 0 ? signature.answerPrefix : "  ") + row);
}

/** The answer of a turn as the agent said it. Pure. */
export function answerText(cell: Extract<Cell, { kind: "answer" }>): string {
  if (cell.text !== undefined) return cell.text;
  return Array.from({ length: cell.words }, (_, index) => {
    return VOCABULARY[(cell.turn * 7 + index) % VOCABULARY.length] ?? "";
  }).join(" ");
}

/** Only the last lines are made: a long turn may stream more words than any screen shows. */
function answerRows(turn: number, words: number, cols: number, max: number): string[] {
  const lines = Math.ceil(words / WORDS_IN_LINE);
  const rows: string[] = [];
  for (let line = Math.max(0, lines - max); line < lines; line++) {
    const count = Math.min(WORDS_IN_LINE, words - line * WORDS_IN_LINE);
    const said = Array.from({ length: count }, (_, index) => {
      return VOCABULARY[(turn * 7 + line * WORDS_IN_LINE + index) % VOCABULARY.length] ?? "";
    });
    const wrapped = wrapText(said.join(" "), cols - signature.answerPrefix.length);
    rows.push(...wrapped.map((row, index) => (index === 0 ? signature.answerPrefix : "  ") + row));
  }
  return rows;
}

/** Takes the screen over: bracketed paste on, screen empty. */
export const enterSequence = "\x1b[?2004h\x1b[H\x1b[2J";

/**
 * Gives the screen back below the last frame, which stays visible: bracketed paste off, cursor on, no title.
 */
export function leaveSequence(last: Frame | null): string {
  return `\x1b[${last?.rows.length ?? 1};1H\r\n\x1b[0m\x1b[?7h\x1b[?25h\x1b[?2004l\x1b]2;\x07`;
}

/**
 * The bytes that turn the screen from `previous` into `frame`; empty when nothing changed. Only rows that
 * differ are written. `previous` null: the present screen is erased.
 */
export function paint(previous: Frame | null, frame: Frame): string {
  const before = previous?.rows ?? [];
  const changed: string[] = [];
  for (let row = 0; row < Math.max(before.length, frame.rows.length); row++) {
    const text = frame.rows[row] ?? "";
    if (previous && (before[row] ?? "") === text) continue;
    changed.push(`\x1b[${row + 1};1H\x1b[2K${text}\x1b[0m`);
  }
  const { row, col } = frame.cursor;
  const moved = previous?.cursor.row !== row || previous.cursor.col !== col;
  const title = previous?.title === frame.title ? "" : `\x1b]2;${frame.title}\x07`;
  if (changed.length === 0 && !moved) return title;
  // Without auto-wrap a character whose width the terminal counts otherwise cannot push rows down.
  const rows = `\x1b[?25l\x1b[?7l${previous ? "" : "\x1b[2J"}${changed.join("")}\x1b[?7h`;
  return `${title}${rows}\x1b[${row + 1};${col + 1}H\x1b[?25h`;
}
