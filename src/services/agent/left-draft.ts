/**
 * Whether the draft that a composer shows is the whole of `text` and nothing else: the same words however they are
 * wrapped, or one chip that stands for a paste of as many lines, line breaks or characters. `draft`: without glyph
 * and indent. Chips as recorded: `[Pasted text #1 +3 lines]` (claude 2.1.197), `[Pasted Content 11496 chars]`
 * (codex 0.169.0), `[Pasted Text: 201 lines]` (gemini 0.61.0), `[Pasted ~4 lines]` (opencode 1.18.33). Pure.
 */
export function isDraftOf(draft: string, text: string): boolean {
  const found = findText(draft, text);
  return found !== null && squeeze(found.before + found.behind) === "";
}

/**
 * What a person has typed, as one line, when it begins a draft that holds the whole of `text`: both wrote at the
 * same moment. Null when nothing stands before `text`; words only behind it may be a hint of the tool's own, and a
 * `text` that is not to be seen whole proves nothing. Pure.
 */
export function personsWords(draft: string, text: string): string | null {
  const found = findText(draft, text);
  return found === null || squeeze(found.before) === ""
    ? null
    : `${found.before}${found.behind}`.replace(/\s*\n\s*/g, " ");
}

/**
 * What a draft that begins with the whole of `text` holds behind it, as one line: a person's last letters, or a hint
 * of the tool's. Null when there is nothing, or when `text` is not to be seen whole. Pure.
 */
export function wordsBehind(draft: string, text: string): string | null {
  const found = findText(draft, text);
  if (found === null || squeeze(found.before) !== "") return null;
  return found.behind.trim().replace(/\s*\n\s*/g, " ") || null;
}

/** Whether the whole of `text`, or a chip that stands for it, is to be seen in a draft, alone or not. Pure. */
export function holdsText(draft: string, text: string): boolean {
  return findText(draft, text) !== null;
}

/** A line shorter than this stands as itself in every tool we know; opencode has the lowest limit. */
const longLine = 150;

function findText(draft: string, text: string): { before: string; behind: string } | null {
  const chip = /\[Pasted\b[^\]]*?(\d+) (lines|chars)\]/.exec(draft);
  if (chip && standsFor({ count: Number(chip[1]), unit: chip[2] ?? "" }, text)) {
    return { before: draft.slice(0, chip.index), behind: draft.slice(chip.index + chip[0].length) };
  }
  const wanted = squeeze(text);
  const start = wanted === "" ? -1 : squeeze(draft).indexOf(wanted);
  if (start < 0) return null;
  const end = rawIndex(draft, start + wanted.length);
  return { before: draft.slice(0, rawIndex(draft, start)), behind: draft.slice(end) };
}

function standsFor({ count, unit }: { count: number; unit: string }, text: string): boolean {
  if (unit === "chars") return count === text.length || count === [...text].length;
  const lines = text.split("\n").length;
  if (lines === 1) return count === 1 && text.length > longLine;
  return count === lines || count === lines - 1;
}

/** Where in `text` its first `count` characters that are not blank have passed. */
function rawIndex(text: string, count: number): number {
  let passed = 0;
  for (let index = 0; index < text.length; index++) {
    if (passed === count) return index;
    if (/\S/.test(text[index] ?? "")) passed++;
  }
  return text.length;
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, "");
}
