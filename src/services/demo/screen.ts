import { isEmpty, shownText } from "./composer.ts";
import { cutText, widthOf, wrapText } from "./layout.ts";
import { demoCommands, demoSignature as signature } from "./signature.ts";
import { type DemoState, type Dialog, spinnerStep, type Turn } from "./state.ts";
import { transcriptRows } from "./transcript.ts";

export interface Size {
  cols: number;
  rows: number;
}

/** The whole screen as it should stand: styled rows from the top, cursor from 0, and the pane's title. */
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

/** The commands that begin with what is typed, while it is a slash and a word. */
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
  const { phase, nowMs, script } = state;
  if (phase.kind === "dialog") return signature.titleDecision;
  if (phase.kind !== "busy" || script.hostile?.busy_title === false) return signature.titleReady;
  return `${spinnerFrame(phase.turn, nowMs)} ${signature.titleBusy}`;
}

function spinnerFrame(turn: Turn, nowMs: number): string {
  const { spinnerFrames } = signature;
  return spinnerFrames[spinnerStep(turn, nowMs) % spinnerFrames.length] ?? spinnerFrames[0];
}
