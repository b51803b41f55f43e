import type { AwaitingDecision } from "../../../protocol/terminal.ts";
import type { CompiledDialog, CompiledProfile } from "../profiles/profile.ts";
import type { Match, Pattern } from "../profiles/profile-pattern.ts";
import { commonBackground, firstVisible, isBlank, type Row } from "../screen.ts";
import { closesTurn } from "./transcript.ts";

export interface FoundDialog {
  rule: string;
  decision: AwaitingDecision;
  /** First and last row that were used as proof. */
  firstRow: number;
  lastRow: number;
}

type Options = { options: AwaitingDecision["options"]; firstRow: number };

const reachOfQuestion = 30;
const maximumRowsBetweenOptions = 3;
/** Hints, a preview or terms between the options and the dialog's last row. */
const maximumRowsBelowOptions = 12;

/**
 * The dialog that ends the screen: its last row with text is the rule's `end`, its options can be read, and
 * its question, if the rule names one, is above or inside them. The profile's order decides. A dialog that no
 * rule reads in full is returned with the list of missing parts. Null when the screen does not end with a
 * dialog.
 */
export function findDialog(rows: readonly Row[], profile: CompiledProfile): FoundDialog | null {
  let last = rows.length - 1;
  while (last >= 0 && isBlank(rows[last])) last -= 1;
  const end = rows[last];
  if (!end) return null;
  for (const rule of profile.dialogs) {
    if (rule.floating === true || !rule.end.test(end.text)) continue;
    const found = readOptions(rows, last, rule);
    if (!found) continue;
    const question = findQuestion(rows, { firstOption: found.firstRow, last }, rule, profile);
    if (question === null) continue;
    const decision: AwaitingDecision = {
      kind: rule.kind,
      question: question.text,
      options: found.options,
      ...headerOf(rows, question.row, rule, profile),
    };
    // A list that no rule asks for by its question has options, but they are of no form that is known.
    const unread = rule.options === "none" && rule.question === null ? unreadBy(rule, "its options") : {};
    return {
      rule: rule.id,
      decision: { ...decision, ...unread },
      firstRow: Math.min(found.firstRow, question.row),
      lastRow: last,
    };
  }
  return endedDialog(rows, last, profile) ?? shapedDialog(rows, last, profile);
}

/** A dialog that is drawn over the screen, composer and all. Null when none is. */
export function findFloating(rows: readonly Row[], profile: CompiledProfile): FoundDialog | null {
  for (const rule of profile.dialogs) {
    if (rule.floating !== true) continue;
    const row = rows.findIndex(({ text }) => rule.question?.test(text));
    if (row < 0) continue;
    const text = rule.question?.exec(rows[row]?.text ?? "")?.[1] ?? clean(rows[row]?.text ?? "");
    const decision: AwaitingDecision = { kind: rule.kind, question: text.trim(), options: [] };
    return {
      rule: rule.id,
      decision: { ...decision, ...unreadBy(rule, "its options") },
      firstRow: row,
      lastRow: row,
    };
  }
  return null;
}

/**
 * The end row of a rule without options that can be read. Of marked options it may be one: that alone proves
 * nothing.
 */
function endedDialog(rows: readonly Row[], last: number, profile: CompiledProfile): FoundDialog | null {
  for (const rule of profile.dialogs) {
    const end = rows[last]?.text ?? "";
    // A bar alone ends messages too: there the question must be seen.
    const says = rule.question !== null || /[\p{L}╰└]/u.test(end);
    if (rule.floating === true || rule.options === "marked" || !says || !rule.end.test(end)) continue;
    const question = findQuestion(rows, { firstOption: last, last }, rule, profile);
    if (question === null) continue;
    const decision: AwaitingDecision = { kind: rule.kind, question: question.text, options: [] };
    return {
      rule: rule.id,
      decision: { ...decision, ...unreadBy(rule, "its options") },
      firstRow: question.row,
      lastRow: last,
    };
  }
  return null;
}

/**
 * A numbered list with one chosen row at the end of the screen: a dialog in other words than the profile's.
 */
function shapedDialog(rows: readonly Row[], last: number, profile: CompiledProfile): FoundDialog | null {
  const found = numberedRows(rows, last, { option: anyNumbered, checkbox: null, button: null });
  if (!found) return null;
  const question = questionAbove(rows, { firstOption: found.firstRow, last }, profile);
  return {
    rule: "by_shape",
    decision: {
      kind: "selection_menu",
      question: question.text,
      options: found.options,
      unread: "no rule of the tool's profile fits; it was read by its shape",
      keys: [...listKeys],
    },
    firstRow: Math.min(found.firstRow, question.row),
    lastRow: last,
  };
}

const anyNumbered = /^[\s│┃|]*([❯›●▸►→>*]?)\s*(\d{1,2})[.)] (\S.*?)[\s│┃|]*$/u;

const listKeys = ["Up", "Down", "Enter", "Escape"] as const;

function unreadBy(rule: CompiledDialog, what: string): Pick<AwaitingDecision, "unread" | "keys"> {
  const moves = rule.options === "inline" ? ["Left", "Right"] : ["Up", "Down"];
  return {
    unread: `${what} could not be read`,
    keys: [...moves, rule.confirm_key, rule.cancel_key].filter((key) => key !== null),
  };
}

function readOptions(rows: readonly Row[], last: number, rule: CompiledDialog): Options | null {
  if (rule.options === "none" || !rule.option) return { options: [], firstRow: last };
  switch (rule.options) {
    case "rows":
      return numberedRows(rows, last, { ...rule, option: rule.option });
    case "blocks":
      return blockRows(rows, last, rule.option);
    case "marked":
      return markedRows(rows, last, rule.option);
    case "inline":
      return inlineRow(rows, last, rule.option);
  }
}

/** Columns between the indent of the chosen row and its text: the mark and a blank. */
const markWidth = 2;

/**
 * Rows without numbers whose texts begin in the column of the chosen row's text; deeper rows continue an
 * option.
 */
function markedRows(rows: readonly Row[], last: number, chosen: Pattern): Options | null {
  const texts: { at: number; text: string; selected: boolean }[] = [];
  const mark = rows.findLastIndex((row, at) => at <= last && chosen.test(row.text));
  const indent = chosen.exec(rows[mark]?.text ?? "")?.[1]?.length;
  if (indent === undefined) return null;
  const read = (at: number): boolean => {
    const text = rows[at]?.text.trimEnd() ?? "";
    const column = text.search(/\S/u);
    if (column === indent + markWidth) texts.push({ at, text: text.trim(), selected: false });
    return column >= indent + markWidth;
  };
  for (let at = mark - 1; at >= 0 && read(at); at--);
  texts.reverse();
  texts.push({ at: mark, text: chosen.exec(rows[mark]?.text ?? "")?.[2] ?? "", selected: true });
  let after = mark + 1;
  while (after <= last && read(after)) after += 1;
  // A list that goes on behind a blank row has options of several rows, which look like several options.
  const goesOn = isBlank(rows[after]) && rows[after + 1]?.text.search(/\S/u) === indent + markWidth;
  if (texts.length < 2 || goesOn) return null;
  const options = texts.map(({ text, selected }, index) => ({
    index: index + 1,
    text: text.split(/ {2,}/u)[0]?.trim() ?? "",
    selected,
  }));
  return { options, firstRow: texts[0]?.at ?? mark };
}

/** The chosen row and those in its column, each with rows that describe it and a blank row after. */
function blockRows(rows: readonly Row[], last: number, chosen: Pattern): Options | null {
  const mark = rows.findLastIndex((row, at) => at <= last && chosen.test(row.text));
  const [row, indent = "", text = ""] = chosen.exec(rows[mark]?.text ?? "") ?? [];
  if (row === undefined) return null;
  const column = indent.length + markWidth;
  const columnOf = (at: number) => rows[at]?.text.search(/\S/u) ?? -1;
  const begins = (at: number) => at === mark || (isBlank(rows[at - 1]) && columnOf(at) === column);
  const belongs = (at: number) =>
    at === mark || columnOf(at) >= column || (isBlank(rows[at]) && begins(at + 1));
  let first = mark;
  while (first > 0 && belongs(first - 1)) first -= 1;
  while (first < mark && !begins(first)) first += 1;
  const options: AwaitingDecision["options"] = [];
  for (let at = first; at <= last && belongs(at); at++) {
    const shown = rows[at]?.text.trim() ?? "";
    const option = options.at(-1);
    if (begins(at)) {
      options.push({ index: options.length + 1, text: at === mark ? text : shown, selected: at === mark });
    } else if (option && shown !== "") {
      option.description = describing([option.description ?? "", shown]);
    }
  }
  return options.length < 2 ? null : { options, firstRow: first };
}

const maxDescription = 300;

const describing = (parts: readonly string[]): string =>
  parts.join(" ").replace(/\s+/gu, " ").trim().slice(0, maxDescription);

/**
 * Numbered rows counted down to 1, exactly one of them chosen; rows that describe or continue an option may
 * be between. A question with several choices ends in a button, which has no number: it gets the next one.
 */
function numberedRows(
  rows: readonly Row[],
  last: number,
  rule: Pick<CompiledDialog, "checkbox" | "button"> & { option: Pattern },
): Options | null {
  const options: AwaitingDecision["options"] = [];
  const buttons: Button[] = [];
  let below: string[] = [];
  const reach = () => (options.length === 0 ? maximumRowsBelowOptions : maximumRowsBetweenOptions + 2);
  for (let at = last; at >= 0 && below.length <= reach(); at--) {
    const row = rows[at]?.text.trimEnd() ?? "";
    const match = rule.option.exec(row);
    const index = Number(match?.[2]);
    const expected = options[0] ? options[0].index - 1 : index;
    if (!match || index !== expected) {
      const button = rule.button?.exec(row);
      if (button) buttons.push({ text: button[2] ?? "", selected: isMarked(button[1]) });
      below.unshift(row);
      continue;
    }
    const option = toOption(match, below, rule.checkbox);
    // Above a button is an option with a check mark.
    for (const button of buttons) button.above ??= option.checked === undefined ? 0 : index;
    options.unshift(option);
    below = [];
    if (index === 1) {
      const all = withButtons(options, buttons);
      const chosen = all.filter(({ selected }) => selected).length;
      return all.length >= 2 && chosen === 1 ? { options: all, firstRow: at } : null;
    }
  }
  return null;
}

interface Button {
  /** The index of the option above it; 0 for a row that is no button. */
  above?: number;
  text: string;
  selected: boolean;
}

const isMarked = (glyph: string | undefined): boolean => (glyph ?? "").trim() !== "";

/** `below`: the rows under it; those that begin no further left than its text say more of it. */
function toOption(
  match: Match,
  below: readonly string[],
  checkbox: Pattern | null,
): AwaitingDecision["options"][number] {
  const shown = match[3] ?? "";
  const column = match[0].length - shown.length;
  const end = below.findIndex((row) => row.trim() === "" || row.search(/\S/u) < column);
  const [words = "", ...beside] = shown.split(/ {2,}/u);
  const box = checkbox?.exec(words.trim());
  const description = describing([...beside, ...(end < 0 ? below : below.slice(0, end))]);
  return {
    index: Number(match[2]),
    // A question that was answered before marks what was chosen.
    text: (box?.[2] ?? (checkbox ? words.replace(/ ✔$/u, "") : words)).trim(),
    selected: isMarked(match[1]),
    ...(description === "" ? {} : { description }),
    ...(box ? { checked: isMarked(box[1]) } : {}),
  };
}

function withButtons(
  options: AwaitingDecision["options"],
  buttons: readonly Button[],
): AwaitingDecision["options"] {
  const all = [...options];
  for (const { above, text, selected } of buttons) {
    const after = all.findIndex(({ index }) => index === above);
    if (after >= 0) all.splice(after + 1, 0, { index: all.length + 1, text, selected });
  }
  return all;
}

/** One row of labels; the chosen one has a separate background. */
function inlineRow(rows: readonly Row[], last: number, pattern: Pattern): Options | null {
  for (let at = last; at >= Math.max(0, last - 3); at--) {
    const row = rows[at];
    const match = row ? pattern.exec(row.text.trimEnd()) : null;
    if (!row || !match) continue;
    const labels = (match[1] ?? "").split(/ {2,}/u).filter((label) => label.trim() !== "");
    const backgrounds = labels.map((label) => backgroundAt(row, row.text.indexOf(label)));
    const usual = commonBackground(row);
    const options = labels.map((label, index) => ({
      index: index + 1,
      text: label.trim(),
      selected: backgrounds[index] !== usual,
    }));
    if (options.filter((option) => option.selected).length !== 1) return null;
    return { options, firstRow: at };
  }
  return null;
}

function backgroundAt(row: Row, column: number): string | null {
  let at = 0;
  for (const span of row.spans) {
    at += span.text.length;
    if (column < at) return span.background;
  }
  return null;
}

interface Extent {
  firstOption: number;
  last: number;
}

function findQuestion(
  rows: readonly Row[],
  { firstOption, last }: Extent,
  rule: CompiledDialog,
  profile: CompiledProfile,
): { text: string; row: number } | null {
  if (!rule.question) return questionAbove(rows, { firstOption, last }, profile);
  for (let at = Math.max(0, firstOption - reachOfQuestion); at <= last; at++) {
    const text = rows[at]?.text ?? "";
    const match = rule.question.exec(text) ?? rule.question.exec(clean(text));
    if (match) return { text: match[1]?.trim() ?? clean(text), row: at };
  }
  return null;
}

/** Rows between a question and what heads it. */
const reachOfHeader = 3;

function headerOf(
  rows: readonly Row[],
  question: number,
  rule: CompiledDialog,
  profile: CompiledProfile,
): Pick<AwaitingDecision, "header"> {
  for (let at = question - 1; rule.header && at >= Math.max(0, question - reachOfHeader); at--) {
    const row = rows[at];
    if (closesTurn(row, profile)) return {};
    if (row && rule.header.test(row.text)) return { header: row.text.trim() };
  }
  return {};
}

/** Text without box sides, bars and blanks around it. */
const clean = (text: string) => text.replace(/^[\s│┃|]+|[\s│┃|]+$/gu, "");

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
 * The text that a dialog's options belong to: the nearest row above them that is itself no option, or without
 * options the heading of the dialog. Empty when there is none: an option is never given as the question.
 */
function questionAbove(
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
 * The first text of the dialog that ends at `last`: below its upper edge, two blank rows, or the transcript.
 * Null when none of them is in sight: the first row may then be anything, also an option.
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
