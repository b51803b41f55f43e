import type { AwaitingDecision } from "../../protocol/terminal.ts";
import { sha256 } from "../../system/digest.ts";
import type { Signals } from "./detect/signals.ts";
import type { AskedState, Moment } from "./reduce-state.ts";

const idLength = 12;
/** A question that was asked before these is asked for the first time again. */
const maxRemembered = 32;

/**
 * The question after one more look. What a tool asks has an id made of its text, so that a gateway that starts again
 * finds the same one; a text that was answered and is asked again gets another. A screen that cannot be read says
 * nothing of it.
 */
export function nextAsked(held: AskedState, signals: Signals | null, at: Moment): AskedState {
  if (!signals) return held;
  const { awaitingDecision: decision, promptVisible, screenText } = signals;
  if (!decision) return promptVisible && held.current ? { ...held, current: null } : held;
  const key = sha256(JSON.stringify(textOf(decision, screenText)));
  if (held.current?.key === key) return held;
  const repeated = held.keys.includes(key);
  const id = (repeated ? sha256(`${key} ${at.wallMs}`) : key).slice(0, idLength);
  const keys = repeated ? held.keys : [...held.keys, key].slice(-maxRemembered);
  return { keys, current: { key, id, sinceMs: at.wallMs } };
}

/** The command of a permission is above its question: rows of the screen's end that belong to the question. */
const maxRows = 20;

/** What a person decides on: everything but the mark of the chosen option and what moves by itself. Pure. */
function textOf({ kind, question, options }: AwaitingDecision, screenText: string): unknown {
  const rows = screenText
    .split("\n")
    .map(plainRow)
    .filter((row) => row !== "");
  return [kind, question, options.map(({ text }) => text), rows.slice(-maxRows)];
}

/** Spinners, bullets, marks and the sides of boxes. */
const leading = /^[^\p{L}\p{N}$/~.'"`(-]+/u;
const span = /\b\d+(?:\.\d+)?\s?(?:ms|s|m|h)\b/gu;
const spinner = /^\s*[^\s\p{L}\p{N}$>❯›│┃|]/u;

function plainRow(row: string): string {
  const text = row.replace(leading, "").trimEnd();
  // A row behind a bullet or a spinner may count the time; the rows of a question have none.
  return spinner.test(row) ? text.replace(span, "") : text;
}
