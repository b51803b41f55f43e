import { createControlStringFilter } from "./control-strings.ts";
import { cutToken, longestPrefix, secretHint, secretPatterns, tokenPatterns } from "./secret-patterns.ts";

/** What stands for each character of a secret: one column, so that the rest of a screen keeps its place. */
const mask = "*";
/** Of a token that is cut by the end of a row, less is not followed into the next row. */
const leastBroken = 20;
/** Of what was given out, so much is remembered: a secret that began there is followed. */
const contextLength = 2 * longestPrefix;
/** Text after the beginning of a private key that never ends. */
const maxKeyBlock = 16_384;
/** A longer sequence is not waited for. */
const maxEscape = 4096;

type Range = readonly [from: number, to: number];

const keyBegin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const keyEnd = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** A text without escape sequences, each secret in it overwritten. For values that come whole. Pure. */
export function redactText(text: string): string {
  if (!secretHint.test(text)) return text;
  const { ranges } = findSecrets(text);
  if (ranges.length === 0) return text;
  const units = text.split("");
  for (const [from, to] of ranges) for (let at = from; at < to; at++) units[at] = masked(units[at] ?? "");
  return units.join("");
}

const privateName = /(?:passw|secret|credential|authorization|cookie|api_?key|access_?key)/i;
const maxDepth = 12;

/** A copy of a JSON value with each secret in its texts overwritten; a text under a private name as a whole. Pure. */
export function redactJson(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redactText(value);
  if (value === null || typeof value !== "object") return value;
  if (depth >= maxDepth) return mask;
  if (Array.isArray(value)) return value.map((one) => redactJson(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === "string" && privateName.test(name)
        ? mask.repeat(one.length)
        : redactJson(one, depth + 1),
    ]),
  );
}

/** Blanks and the frames that tools draw around text stay: they are no part of a secret. */
const masked = (unit: string) => (/[\s\u2500-\u257f]/.test(unit) ? unit : mask);

/**
 * Where secrets are in a text. `openKey`: a private key began and its end is not there, from this place on.
 */
function findSecrets(text: string): { ranges: Range[]; openKey: number | null } {
  const ranges: Range[] = [];
  for (const { pattern } of secretPatterns) {
    for (const match of text.matchAll(pattern)) {
      const value = match[1] ?? match[0];
      const from = match.index + (match[1] === undefined ? 0 : match[0].lastIndexOf(value));
      ranges.push([from, from + value.length], ...restInNextRow(text, from, from + value.length));
    }
  }
  ranges.push(...cutTokens(text));
  let openKey: number | null = null;
  for (const begin of text.matchAll(keyBegin)) {
    keyEnd.lastIndex = begin.index + begin[0].length;
    const end = keyEnd.exec(text);
    if (end === null) openKey = begin.index;
    ranges.push([begin.index, end === null ? text.length : end.index + end[0].length]);
  }
  return { ranges, openKey };
}

const rowBreak = /^[^\S\n]*[│┃║|]?[^\S\n]*\n+[^\S\n]*[│┃║|]?[^\S\n]*(?=\S*\d|\S{16})([^\s│┃║"']{4,})/u;

/** A long value that fills the end of its row goes on in the next one, where tools break it themselves. */
function* restInNextRow(text: string, from: number, to: number): Generator<Range> {
  let [begin, end] = [from, to];
  while (end - begin >= leastBroken) {
    const rest = rowBreak.exec(text.slice(end, end + longestPrefix));
    if (rest?.[1] === undefined) return;
    begin = end + rest[0].length - rest[1].length;
    end += rest[0].length;
    yield [begin, end];
  }
}

const cutWord =
  /([\w.=-]{1,40})[^\S\n]*[│┃║|]?[^\S\n]*\n+[^\S\n]*[│┃║|]?[^\S\n]*(?=\S*\d|\S{16})([^\s│┃║"']{4,})/gu;

/** A short word at a row's end with a long one in the next row: together they may have a hint that neither has. */
const cutBegin =
  /\n(?=[^\S\n]*[│┃║|]?[^\S\n]*(?=\S*\d)[\w.-]{16})(?<=\b[\w-]{1,6}[^\S\n]*[│┃║|]?[^\S\n]*\n+)/u;

/** Tokens that a row's end cuts where so little of them is in the row that `restInNextRow` does not follow. */
function* cutTokens(text: string): Generator<Range> {
  for (const match of text.matchAll(cutWord)) {
    const [whole, head = "", tail = ""] = match;
    const tailFrom = match.index + whole.length - tail.length;
    for (const { pattern } of tokenPatterns) {
      for (const token of (head + tail).matchAll(pattern)) {
        const past = token.index + token[0].length - head.length;
        if (past <= 0 || token.index >= head.length || head.length - token.index >= leastBroken) continue;
        yield [match.index + token.index, match.index + head.length];
        yield [tailFrom, tailFrom + past];
        yield* restInNextRow(text, tailFrom, tailFrom + past);
      }
    }
  }
}

/** Overwrites secrets in what a terminal is sent, in parts. */
export interface Redactor {
  /** What may be written of all text so far. A bounded end is held back while it may be the begin of a secret. */
  push(text: string): string;
  /** The rest, as if no more came. What comes nevertheless is still compared with it. */
  flush(): string;
  /** Whether something is held back. */
  holds(): boolean;
}

// One escape sequence: OSC and other strings with their end, CSI, charset, or a short one.
const escapeSequence =
  /\x1b[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()*+\-./].|\x1b[ -/]*[0-Z\\^_`a-~]/gs;
const unfinishedEscape = /\x1b(?:[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*\x1b?|\[[0-?]*[ -/]*|[()*+\-./ #%]*)$/s;

/** A run of characters that are shown, and where it lies in the raw text. */
interface Piece {
  shown: number;
  raw: number;
  length: number;
}

/** What waits, split: the text that it shows, where each piece of it lies, and the end of the last whole sequence. */
function readShown(raw: string): { shown: string; pieces: Piece[]; end: number } {
  const unfinished = raw.includes("\x1b") ? unfinishedEscape.exec(raw) : null;
  const held = unfinished !== null && raw.length - unfinished.index <= maxEscape;
  const end = held ? unfinished.index : raw.length;
  const pieces: Piece[] = [];
  let shown = "";
  let from = 0;
  const take = (to: number) => {
    if (to > from) pieces.push({ shown: shown.length, raw: from, length: to - from });
    shown += raw.slice(from, to);
  };
  for (const match of raw.slice(0, end).matchAll(escapeSequence)) {
    take(match.index);
    shown += separatorOf(match[0]);
    from = match.index + match[0].length;
  }
  take(end);
  return { shown: shown.replaceAll("\r", "\n"), pieces, end };
}

/**
 * Escape sequences stay as they are and do not part a secret, save those that move the cursor: these end a row, or are
 * blanks. At most `longestPrefix` characters without a blank are held back.
 */
export function createRedactor(): Redactor {
  /** The text before, as it was; it never leaves this process. */
  let context = "";
  let waiting = "";
  /** Characters of a private key that has begun, or null. */
  let inKey: number | null = null;
  /** The last character that was given out belongs to a secret. */
  let inSecret = false;
  const withoutStrings = createControlStringFilter();

  function give(all: boolean): string {
    if (waiting === "") return "";
    const { shown, pieces, end } = readShown(waiting);
    const text = context + shown;
    const begin = context.length;
    const ranges =
      inKey !== null || inSecret || secretHint.test(text) || cutBegin.test(text)
        ? secretsIn(text, begin)
        : [];
    const keep = all ? shown.length : shown.length - heldLength(shown);
    const cut = keep < shown.length ? placeOf(pieces, keep, end) : all ? waiting.length : end;
    const given = overwrite(waiting.slice(0, cut), pieces, ranges, { begin, keep }).replace(
      titles,
      redactText,
    );
    waiting = waiting.slice(cut);
    if (keep > 0) inSecret = ranges.some(([from, to]) => from < begin + keep && to >= begin + keep);
    remember(text.slice(0, begin + keep), keep);
    return given;
  }

  /** Of `text`, which begins with the text that was given out; the rest begins at `begin`. */
  function secretsIn(text: string, begin: number): Range[] {
    const { ranges } = findSecrets(text);
    const fresh = text.slice(begin);
    if (inSecret) ranges.push([begin, begin + (wordStart.exec(fresh)?.[0].length ?? 0)]);
    if (inKey !== null && inKey > contextLength / 2) {
      keyEnd.lastIndex = Math.max(0, begin - Math.min(longestMark, inKey));
      const end = keyEnd.exec(text);
      ranges.push([begin, end === null ? text.length : end.index + end[0].length]);
    }
    return ranges;
  }

  /** `given`: the text up to what was given out last, which are its last `fresh` characters. */
  function remember(given: string, fresh: number): void {
    if (inKey === null) inKey = lengthOfOpenKey(given);
    else {
      keyEnd.lastIndex = Math.max(0, given.length - fresh - Math.min(longestMark, inKey));
      inKey =
        keyEnd.exec(given) !== null || inKey + fresh > maxKeyBlock ? lengthOfOpenKey(given) : inKey + fresh;
    }
    context = given.slice(-contextLength);
  }

  return {
    push(text) {
      waiting += withoutStrings(text);
      return give(false);
    },
    flush: () => give(true),
    holds: () => waiting !== "",
  };
}

/** Titles and links. */
const titles = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g;
const wordStart = /^[^\s"'`,;)}\]<>]+/;
/** Of the first and last line of a private key. */
const longestMark = 80;

function lengthOfOpenKey(text: string): number | null {
  if (!text.includes("-----BEGIN")) return null;
  const { openKey } = findSecrets(text);
  return openKey === null ? null : text.length - openKey;
}

/** The raw text with all places overwritten that show a part of a secret. */
function overwrite(
  raw: string,
  pieces: readonly Piece[],
  ranges: readonly Range[],
  { begin, keep }: { begin: number; keep: number },
): string {
  const own = ranges.filter(([, to]) => to > begin);
  if (own.length === 0) return raw;
  const units = raw.split("");
  for (const [from, to] of own) {
    for (const piece of pieces) {
      const first = Math.max(from - begin, piece.shown);
      const last = Math.min(to - begin, keep, piece.shown + piece.length);
      for (let at = first; at < last; at++) {
        const place = piece.raw + at - piece.shown;
        units[place] = masked(units[place] ?? "");
      }
    }
  }
  return units.join("");
}

/** What a sequence is for the text around it: nothing, a blank, or the end of a row. */
function separatorOf(sequence: string): string {
  if (!sequence.startsWith("\x1b[")) return /^\x1b[DEMc78]/.test(sequence) ? "\n" : "";
  const final = sequence.at(-1) ?? "";
  if (final === "C") return " ";
  // Erasing moves no cursor: grep writes it between what it found and the rest of a word.
  return /[ABDEFGHSTdfr`]/.test(final) ? "\n" : "";
}

/** The length of the last word, or of a mark of a private key, which more text may go on with. */
function heldLength(shown: string): number {
  const line = shown.lastIndexOf("\n") + 1;
  const word = Math.max(line, shown.lastIndexOf(" ") + 1, shown.lastIndexOf("\t") + 1);
  const dashes = shown.indexOf("-----", line);
  const isMark = dashes >= 0 && shown.length - dashes < longestMark;
  const begin = isMark ? Math.min(dashes, word) : word;
  const cut = cutToken.exec(shown.slice(-longestPrefix))?.index ?? null;
  const held = shown.length - begin;
  return Math.min(
    cut === null ? held : Math.max(held, Math.min(shown.length, longestPrefix) - cut),
    longestPrefix,
  );
}

/** Where in the raw text the shown character `index` lies; `end` when only sequences follow. */
function placeOf(pieces: readonly Piece[], index: number, end: number): number {
  const piece = pieces.find(({ shown, length }) => index < shown + length);
  return piece === undefined ? end : piece.raw + Math.max(0, index - piece.shown);
}
