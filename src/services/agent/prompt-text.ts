import { isOlder } from "../../system/versions.ts";
import { stripControl } from "../../system/visible.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";

/**
 * The text that is typed for a prompt: without control characters and trailing newlines, with a leading blank
 * when the tool would take the first character for a command, and with a trailing blank when the last word
 * would open a popup that takes Enter. Slash commands of the prompt stay commands. Null when no text is left.
 * Source: spec/terminal.md 6.3-6.5.
 */
export function prepareText(prompt: string, profile: CompiledProfile): string | null {
  const text = stripControl(prompt);
  if (text.trim() === "") return null;
  const before = profile.data.submit.blank_before.some((start) => text.startsWith(start)) ? " " : "";
  const after = profile.blankAfter?.test(text) ? " " : "";
  return `${before}${text}${after}`;
}

/**
 * Splits `text` into pastes: one, or several for a version that wraps a long paste into markup
 * (`paste_pieces` of the profile). A piece begins with the line breaks before its words, and no grapheme is
 * cut; the pieces together are `text`. `version`: that of the tool's banner, null when unknown. Pure.
 */
export function pastesOf(text: string, profile: CompiledProfile, version: string | null): string[] {
  const limits = profile.data.submit.paste_pieces;
  if (!limits || version === null || isOlder(version, limits.from_version)) return [text];
  const pieces: string[] = [];
  let piece = "";
  let breaks = 0;
  for (const part of text.split(/(?=\n)/u)) {
    for (const run of runsOf(part, limits.characters)) {
      const adds = run.startsWith("\n") ? 1 : 0;
      const full = breaks + adds > limits.line_breaks || piece.length + run.length > limits.characters;
      if (full && piece.trim() !== "") {
        pieces.push(piece);
        piece = "";
        breaks = 0;
      }
      piece += run;
      breaks += adds;
    }
  }
  return piece === "" ? pieces : [...pieces, piece];
}

/** `text` in runs of at most `length` characters, cut between graphemes. */
function runsOf(text: string, length: number): string[] {
  if (text.length <= length) return [text];
  const runs: string[] = [];
  let run = "";
  for (const { segment } of new Intl.Segmenter("und", { granularity: "grapheme" }).segment(text)) {
    if (run !== "" && run.length + segment.length > length) {
      runs.push(run);
      run = "";
    }
    run += segment;
  }
  return [...runs, run];
}

/** Pause between a paste and Enter (spec/terminal.md 6.6). */
export function enterDelayMs(text: string, profile: CompiledProfile): number {
  const { enter_delay_ms, enter_delay_ms_per_kib, enter_delay_max_ms } = profile.data.submit;
  const kib = Math.max(0, text.length / 1024 - 4);
  return Math.min(enter_delay_max_ms, enter_delay_ms + enter_delay_ms_per_kib * kib);
}

/**
 * Whether a draft is exactly `text`: the same words in any wrapping, or one chip for a paste of as many
 * lines, line breaks or characters. `draft`: without glyph and indent. Chips as recorded: `[Pasted text #1 +3
 * lines]` (claude 2.1.197), `[Pasted Content 11496 chars]` (codex 0.169.0), `[Pasted Text: 201 lines]`
 * (gemini 0.61.0), `[Pasted ~4 lines]` (opencode 1.18.33). Pure.
 */
export function isDraftOf(draft: string, text: string): boolean {
  const found = findText(draft, text);
  return found !== null && squeeze(found.before + found.behind) === "";
}

/** Whether a draft is the beginning or the end of `text`, as after an incomplete clearing. Pure. */
export function isRemainderOf(draft: string, text: string): boolean {
  const [remainder, whole] = [squeeze(draft), squeeze(text)];
  return remainder !== "" && (whole.startsWith(remainder) || whole.endsWith(remainder));
}

/**
 * The words of a person around `text` in a draft, as one line: the person typed at the same moment. Null when
 * no word is before `text`, since words only after it may be a hint of the tool, and when the draft does not
 * hold all of `text`, which proves nothing. Pure.
 */
export function personsWords(draft: string, text: string): string | null {
  const found = findText(draft, text);
  return found === null || squeeze(found.before) === ""
    ? null
    : `${found.before}${found.behind}`.replace(/\s*\n\s*/g, " ");
}

/**
 * The words after `text` in a draft that begins with all of `text`, as one line: letters of a person, or a
 * hint of the tool. Null without such words, and when the draft does not begin with all of `text`. Pure.
 */
export function wordsBehind(draft: string, text: string): string | null {
  const found = findText(draft, text);
  if (found === null || squeeze(found.before) !== "") return null;
  return found.behind.trim().replace(/\s*\n\s*/g, " ") || null;
}

/**
 * Whether a draft contains all of `text`, or a chip for it. Pure.
 */
export function holdsText(draft: string, text: string): boolean {
  return findText(draft, text) !== null;
}

/**
 * The delay after the text within which the tool may open a completion list; 0 when it opens none late. Pure.
 */
export function listOpensWithinMs(text: string, profile: CompiledProfile): number {
  const rules = profile.popups.filter((popup) => popup.draft.test(text));
  return Math.max(0, ...rules.map((popup) => popup.opens_within_ms ?? 0));
}

/**
 * Whether Enter would replace `text` by the first entry of a completion list, `offered`: no word of `text` is
 * the entry or one of its aliases, as in `quit (exit)`. Pure.
 */
export function offersAnother(offered: string, text: string): boolean {
  const [name = ""] = offered.replace(/^[^\p{L}\p{N}/]+/u, "").split(/ {2,}/u);
  const entries = name.split(/[\s(),]+/u).map(bare);
  return !text.split(/\s+/u).some((word) => bare(word) !== "" && entries.includes(bare(word)));
}

/** A word without the character that opens a list. */
const bare = (word: string) => word.replace(/^[/@$]/u, "").toLowerCase();

/** Whether a text begins with a command name of the tool; a path is not a command. */
export function isCommandName(text: string): boolean {
  return /^\/[\w:.-]+(?:\s|$)/u.test(text);
}

/**
 * Whether `taken`, the beginning of the prompt that the tool took, proves that the tool took another text
 * than `text`: `taken` is a command that `text` does not name, or `text` with its last word completed. No
 * other difference is proof: tools wrap, cut, trim and render texts, and hold several texts for one turn.
 * Pure.
 */
export function isAnotherText(taken: string, text: string): boolean {
  if (isCommandName(text)) return false;
  const [first = ""] = taken.trim().split("\n");
  const command = /^\/[\w:.-]+(?=\s|$)/u.exec(first)?.[0];
  if (command !== undefined) return !text.includes(command);
  const typed = text.trim();
  if (typed === text || !/[@$]\S+$/u.test(typed) || !first.startsWith(typed)) return false;
  return /^[\w./-]+$/u.test(first.slice(typed.length));
}

/**
 * The words of a person that the tool took after `text`. `taken`: the prompt as the tool reports or shows it.
 * Null when `taken` does not begin with all of `text`, as when it is cut or rendered, or has no further
 * words. Pure.
 */
export function wordsAlong(taken: string, text: string): string | null {
  if (isCommandName(text) || !squeeze(taken).startsWith(squeeze(text))) return null;
  return wordsBehind(taken, text)?.slice(0, maxAlong) ?? null;
}

const maxAlong = 200;

/** Whether `text` begins with the first row of `taken`, a prompt in the transcript. Pure. */
export function beginsText(taken: string, text: string): boolean {
  const first = squeeze(taken.split("\n")[0] ?? "");
  return first !== "" && squeeze(text).startsWith(first);
}

/** Every supported tool shows a shorter line without a chip; opencode has the lowest limit. */
const longLine = 150;

function findText(draft: string, text: string): { before: string; behind: string } | null {
  const chip = /\[Pasted\b[^\]]*?(\d+) (lines|chars)\]/.exec(draft);
  if (chip && matchesChip({ count: Number(chip[1]), unit: chip[2] ?? "" }, text)) {
    return { before: draft.slice(0, chip.index), behind: draft.slice(chip.index + chip[0].length) };
  }
  const wanted = squeeze(text);
  const start = wanted === "" ? -1 : squeeze(draft).indexOf(wanted);
  if (start < 0) return null;
  const end = rawIndex(draft, start + wanted.length);
  return { before: draft.slice(0, rawIndex(draft, start)), behind: draft.slice(end) };
}

function matchesChip({ count, unit }: { count: number; unit: string }, text: string): boolean {
  if (unit === "chars") return count === text.length || count === [...text].length;
  const lines = text.split("\n").length;
  if (lines === 1) return count === 1 && text.length > longLine;
  return count === lines || count === lines - 1;
}

/** Index in `text` after its first `count` characters that are not blank. */
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
