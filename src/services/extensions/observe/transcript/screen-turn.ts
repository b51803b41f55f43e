import { type Fields, numberOf, textOf } from "../../../headless/json-fields.ts";
import { findComposer } from "../../../terminal/detect/composer.ts";
import { closesTurn } from "../../../terminal/detect/transcript.ts";
import type { CompiledProfile } from "../../../terminal/profiles/profile.ts";
import { parseScreen, type Row } from "../../../terminal/screen.ts";
import type { TurnItem } from "./turn-source.ts";

/**
 * A terminal at the end of a turn: what was scrolled out of sight, then the screen, styled as
 * `capture-pane -e` gives it.
 */
export interface ScreenCapture {
  text: string;
  /** Rows of the screen itself, which are the last ones. */
  height: number;
}

interface ScreenTurn {
  /** As the screen shows it, perhaps cut by the tool; null when its row is not in sight any more. */
  prompt: string | null;
  answer: string | null;
}

/** Of the longest transcript that is looked through. */
export const maxCapturedRows = 2000;

/**
 * A mark at the left edge with which a tool begins an answer or an action: one character that is no word's or
 * Markdown's.
 */
const mark = /^([^\p{L}\p{N}\p{M}\s#>*_`~|+\-=:.,;!?'"()[\]{}<\\/&@$%^]) (?=\S)/u;
/** The row under an action's first that shows what it gave. */
const actionResult = /^\s*[⎿└]/u;
/** The first row of a frame around an action and its result. */
const actionFrame = /^\s*│ [✓✔✗✖⊶?] /u;
/** Lines that frame a prompt. */
const frameRow = /^[\s▀▄─━┃│]*$/u;

/**
 * The newest turn on the screen, without the marks, rules and indents of the tool: the prompt from the last
 * row that shows one, and what follows the last action. Line breaks are the terminal's. Null when no composer
 * is in sight. Pure.
 */
export function readScreenTurn({ text, height }: ScreenCapture, profile: CompiledProfile): ScreenTurn | null {
  const all = parseScreen(text);
  const rows = all.slice(-(maxCapturedRows + height));
  const screen = rows.slice(-height);
  const composer = findComposer({ rows: screen, cursor: null }, profile);
  if (!composer) return null;
  const transcript = rows.slice(0, rows.length - screen.length + composer.transcriptEnd);
  const isChrome = (row: Row) => profile.composer.chromeAbove.some((pattern) => pattern.test(row.text));
  const cell = transcript.findLastIndex((row) => profile.userCell?.pattern.test(row.text) === true);
  const turn = transcript.slice(cell + 1).filter((row) => !isChrome(row) && !closesTurn(row, profile));
  const texts = turn.map((row) => row.text.trimEnd());
  return {
    prompt: cell < 0 ? null : promptAt(transcript, cell, profile),
    answer: answerIn(texts, cell >= 0),
  };
}

function promptAt(transcript: readonly Row[], cell: number, profile: CompiledProfile): string {
  const first = transcript[cell]?.text ?? "";
  const end = transcript.findIndex(
    (row, at) => at > cell && (frameRow.test(row.text) || closesTurn(row, profile)),
  );
  const rest = transcript.slice(cell + 1, end < 0 ? transcript.length : end);
  const head = first.replace(/^\s*\S+\s+/u, "");
  return [head.trim(), ...rest.map((row) => row.text.trim())].join("\n").trim();
}

function answerIn(texts: readonly string[], belowPrompt: boolean): string | null {
  const marked = texts.flatMap((text, at) => (mark.test(text) ? [at] : []));
  // Without a mark the answer begins after the blank row under the prompt.
  const from = belowPrompt ? texts.indexOf("") : 0;
  const starts = marked.length > 0 ? marked : [Math.max(0, from)];
  const blocks = starts.map((start, index) => texts.slice(start, starts[index + 1] ?? texts.length));
  const lastAction = blocks.findLastIndex(isAction);
  const answer = blocks
    .slice(lastAction + 1)
    .map(withoutIndent)
    .join("\n")
    .replace(/^\n+|\s+$/g, "");
  return answer === "" ? null : answer;
}

function isAction(block: readonly string[]): boolean {
  return actionResult.test(block[1] ?? "") || block.some((text) => actionFrame.test(text));
}

/** A block without its mark and the indent that its rows share. */
function withoutIndent(block: readonly string[]): string {
  const filled = block.filter((text) => text !== "");
  // A tool may put its mark, whatever it is, before each row.
  const marksAll = filled.length > 0 && filled.every((text) => /^(?:\S| ) /u.test(text));
  const rows = block.map((text) => (marksAll ? text.replace(/^\S /u, "  ") : text.replace(mark, "  ")));
  const indents = rows.filter((text) => text.trim() !== "").map((text) => text.search(/\S/u));
  const shared = indents.length === 0 ? 0 : Math.min(...indents);
  return rows.map((text) => text.slice(shared)).join("\n");
}

/** A line of screen-turns.jsonl: one turn as the gateway saw it at its end. Times are wall clock. */
export interface ScreenTurnLine {
  schema_version: 1;
  started_at_ms: number;
  ended_at_ms: number;
  prompt: string;
  answer: string | null;
}

/** As a reader of lines. Pure. */
export function readScreenLine(record: Fields): TurnItem[] {
  const prompt = textOf(record["prompt"]);
  if (record["schema_version"] !== 1 || prompt === null) return [];
  const answer = textOf(record["answer"]);
  const startedMs = numberOf(record["started_at_ms"]);
  const atMs = numberOf(record["ended_at_ms"]);
  return [
    { kind: "prompt", text: prompt, atMs: startedMs },
    ...(answer === null ? [] : [{ kind: "text", text: answer, key: null, atMs } as const]),
    { kind: "end", status: "unknown", error: null, atMs },
  ];
}
