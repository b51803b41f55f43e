import type { Row } from "../observation.ts";
import type { CompiledProfile } from "../profile.ts";
import { firstVisible, isBlank } from "../screen.ts";
import { closesTurn } from "./transcript.ts";

/** Text without box sides, bars and blanks around it. */
export const clean = (text: string) => text.replace(/^[\s│┃|]+|[\s│┃|]+$/gu, "");

/** A row that can be chosen, or a field to type in. */
const optionLike = /^(?:[❯›●○◉▸►→>*] *\S|\d{1,2}[.)] |\[[ xX✓]\]|[☐☑⌕▲▼↑↓]|❯)/u;
/** Tabs, edges and other rows without a sentence. */
const wordless = /^[^\p{L}]*$/u;
/** A dialog is no higher. */
const highestDialog = 80;
/** Rows between the options and the text that they belong to: a search field, hints, blank rows. */
const reachAboveOptions = 8;

/** The first row under a dialog's upper edge may be marked. */
const markedTitle = /^[>?] (\p{L}.*?)(?: {3,}.*)?$/u;

/**
 * The text that a dialog's options belong to: the nearest row above them that is itself no option, or without options
 * the heading of the dialog. Empty when there is none: an option is never given as the question.
 */
export function questionAbove(
  rows: readonly Row[],
  { firstOption, last }: { firstOption: number; last: number },
  profile: CompiledProfile,
): { text: string; row: number } {
  const row = firstOption < last ? nearestText(rows, firstOption, profile) : heading(rows, last, profile);
  if (row === null) return { text: "", row: firstOption };
  const text = clean(rows[row]?.text ?? "");
  return { text: markedTitle.exec(text)?.[1] ?? text, row };
}

const isPlain = (row: Row): boolean => firstVisible(row)?.background === null;

function says(row: Row | undefined): boolean {
  const text = clean(row?.text ?? "");
  return !wordless.test(text) && !optionLike.test(text);
}

function nearestText(rows: readonly Row[], firstOption: number, profile: CompiledProfile): number | null {
  for (let at = firstOption - 1; at >= Math.max(0, firstOption - reachAboveOptions); at--) {
    if (closesTurn(rows[at], profile)) return null;
    if (says(rows[at])) return at;
  }
  return null;
}

/** Columns by which a dialog's own texts may be indented; options and what continues them are deeper. */
const deepestText = 1;

/**
 * The first text of the dialog that ends at `last`: below its upper edge, two blank rows, or the transcript. Null when
 * none of them is in sight: the first row may then be anything, also an option.
 */
function heading(rows: readonly Row[], last: number, profile: CompiledProfile): number | null {
  let found: number | null = null;
  let first = last;
  const boxed = /^\s*[╰└]/u.test(rows[last]?.text ?? "");
  const edge = boxed ? /^\s*[╭┌]─{19,}/u : /^\s*[▔─━]{20,}/u;
  const columnOf = (at: number) => rows[at]?.text.search(/\S/u) ?? 0;
  for (let at = last - 1; at >= 0 && last - at < highestDialog; at--) {
    const row = rows[at];
    const text = row?.text ?? "";
    // A rule may also part the options from the row of keys.
    if (found !== null && edge.test(text) && columnOf(at) <= columnOf(last)) {
      return markedTitle.test(clean(rows[first]?.text ?? "")) ? first : found;
    }
    const cell = row !== undefined && profile.userCell?.pattern.test(text) === true && !isPlain(row);
    if (closesTurn(row, profile) || cell) return found;
    if (isBlank(row) && at > 0 && isBlank(rows[at - 1]) && found !== null) return found;
    if (clean(text) !== "") first = at;
    if (says(row) && columnOf(at) <= columnOf(last) + deepestText) found = at;
  }
  return null;
}
