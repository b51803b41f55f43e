import { isOlder } from "../../system/versions.ts";
import { stripControl } from "../../system/visible.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";

/**
 * The text that is really typed for a prompt: without control characters and trailing newlines, with a
 * leading blank where the tool would read the first character as one of its commands, and a trailing blank
 * where the last word would open a popup that takes Enter. Slash commands the person asked for stay commands.
 * Null when nothing is left to type. Source: spec/terminal.md 6.3-6.5.
 */
export function prepareText(prompt: string, profile: CompiledProfile): string | null {
  const text = stripControl(prompt);
  if (text.trim() === "") return null;
  const before = profile.data.submit.blank_before.some((start) => text.startsWith(start)) ? " " : "";
  const after = profile.blankAfter?.test(text) ? " " : "";
  return `${before}${text}${after}`;
}

/**
 * The pastes in which `text` is given to the tool: one, or several for a version that wraps a long paste into
 * markup (`paste_pieces` of the profile). A piece begins with the line breaks before its words, and no
 * grapheme is cut; the pieces together are `text`. `version`: as the tool's banner shows it, null when it is
 * not known. Pure.
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

/** How long to leave a pasted text alone before Enter, milliseconds (spec/terminal.md 6.6). */
export function enterDelayMs(text: string, profile: CompiledProfile): number {
  const { enter_delay_ms, enter_delay_ms_per_kib, enter_delay_max_ms } = profile.data.submit;
  const kib = Math.max(0, text.length / 1024 - 4);
  return Math.min(enter_delay_max_ms, enter_delay_ms + enter_delay_ms_per_kib * kib);
}

/**
 * Whether the draft that a composer shows is the whole of `text` and nothing else: the same words however
 * they are wrapped, or one chip that stands for a paste of as many lines, line breaks or characters. `draft`:
 * without glyph and indent. Chips as recorded: `[Pasted text #1 +3 lines]` (claude 2.1.197),
 * `[Pasted Content 11496 chars]` (codex 0.169.0), `[Pasted Text: 201 lines]` (gemini 0.61.0),
 * `[Pasted ~4 lines]` (opencode 1.18.33). Pure.
 */
export function isDraftOf(draft: string, text: string): boolean {
  const found = findText(draft, text);
  return found !== null && squeeze(found.before + found.behind) === "";
}

/** Whether a draft is what clearing has spared of `text`: its end or its beginning. Pure. */
export function isRemainderOf(draft: string, text: string): boolean {
  const [remainder, whole] = [squeeze(draft), squeeze(text)];
  return remainder !== "" && (whole.startsWith(remainder) || whole.endsWith(remainder));
}

/**
 * What a person has typed, as one line, when it begins a draft that holds the whole of `text`: both wrote at
 * the same moment. Null when nothing is before `text`; words only behind it may be a hint of the tool's own,
 * and a `text` that is not to be seen whole proves nothing. Pure.
 */
export function personsWords(draft: string, text: string): string | null {
  const found = findText(draft, text);
  return found === null || squeeze(found.before) === ""
    ? null
    : `${found.before}${found.behind}`.replace(/\s*\n\s*/g, " ");
}

/**
 * What a draft that begins with the whole of `text` holds behind it, as one line: a person's last letters, or
 * a hint of the tool's. Null when there is nothing, or when `text` is not to be seen whole. Pure.
 */
export function wordsBehind(draft: string, text: string): string | null {
  const found = findText(draft, text);
  if (found === null || squeeze(found.before) !== "") return null;
  return found.behind.trim().replace(/\s*\n\s*/g, " ") || null;
}

/**
 * Whether the whole of `text`, or a chip that stands for it, is to be seen in a draft, alone or not. Pure.
 */
export function holdsText(draft: string, text: string): boolean {
  return findText(draft, text) !== null;
}

/**
 * Within how many milliseconds after the text the tool may open a completion list over it; 0 when it opens
 * none late. Pure.
 */
export function listOpensWithinMs(text: string, profile: CompiledProfile): number {
  const rules = profile.popups.filter((popup) => popup.draft.test(text));
  return Math.max(0, ...rules.map((popup) => popup.opens_within_ms ?? 0));
}

/**
 * Whether Enter would put the first entry of a completion list, `offered`, in the place of `text`: the entry
 * is none of the text's own words. Aliases are beside a command's name: `quit (exit)`. Pure.
 */
export function offersAnother(offered: string, text: string): boolean {
  const [name = ""] = offered.replace(/^[^\p{L}\p{N}/]+/u, "").split(/ {2,}/u);
  const entries = name.split(/[\s(),]+/u).map(bare);
  return !text.split(/\s+/u).some((word) => bare(word) !== "" && entries.includes(bare(word)));
}

/** A word without the character that opens a list. */
const bare = (word: string) => word.replace(/^[/@$]/u, "").toLowerCase();

/** A text that names one of the tool's commands, with whatever follows. A path is none. */
export function isCommandName(text: string): boolean {
  return /^\/[\w:.-]+(?:\s|$)/u.test(text);
}

/**
 * Whether `taken`, the beginning of the prompt that the tool took, is proof that it is not the typed `text`:
 * it is a command that the text does not name, or the text with its last word completed. Tools wrap, cut,
 * trim and render what they show, and hold several texts for one turn, so no other difference counts. Pure.
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
 * What a person typed that the tool took behind `text`: `taken`, the prompt as the tool reports or shows it,
 * begins with the whole of `text` and goes on. Null when it does not, or is shown cut or rendered. Pure.
 */
export function wordsAlong(taken: string, text: string): string | null {
  if (isCommandName(text) || !squeeze(taken).startsWith(squeeze(text))) return null;
  return wordsBehind(taken, text)?.slice(0, maxAlong) ?? null;
}

const maxAlong = 200;

/** Whether the first row of `taken`, a prompt in the transcript, is the beginning of `text`. Pure. */
export function beginsText(taken: string, text: string): boolean {
  const first = squeeze(taken.split("\n")[0] ?? "");
  return first !== "" && squeeze(text).startsWith(first);
}

/** Every tool we know shows a line shorter than this as it is; opencode has the lowest limit. */
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
