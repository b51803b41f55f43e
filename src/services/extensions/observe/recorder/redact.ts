import { createControlStringFilter } from "./control-strings.ts";
import {
  cutToken,
  longestPrefix,
  nextRow,
  rowEnd,
  type SecretPattern,
  secretHint,
  secretPatterns,
  tokenPatterns,
} from "./secret-patterns.ts";

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
  return maskRanges(text, findSecrets(text));
}

const privateName = /(?:passw|secret|credential|authorization|cookie|api_?key|access_?key)/i;
const maxDepth = 12;

/**
 * A copy of a JSON value with each secret in its texts overwritten; a text under a private name as a whole.
 * Pure.
 */
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
const shownUnit = /[^\s\u2500-\u257f]/g;

/** `ranges`: in order, apart from one another. Pure. */
function maskRanges(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const parts: string[] = [];
  let given = 0;
  for (const [from, to] of ranges) {
    parts.push(text.slice(given, from), text.slice(from, to).replace(shownUnit, mask));
    given = to;
  }
  parts.push(text.slice(given));
  return parts.join("");
}

/** In order, and joined where they meet: a text of secrets in secrets costs no more than another. Pure. */
function joinRanges(ranges: Range[]): Range[] {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges.sort((left, right) => left[0] - right[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (to > from) joined.push([from, to]);
  }
  return joined;
}

/**
 * Where secrets are in a text, in order and apart from one another. The time grows with its length alone.
 * Pure.
 */
function findSecrets(text: string): Range[] {
  const ranges: Range[] = [];
  /** Ends from which the next row was looked at: one row after the other may end in a secret. */
  const followed = new Set<number>();
  for (const one of secretPatterns) {
    for (const [from, to] of matchesOf(text, one)) {
      ranges.push([from, to]);
      followRows(text, [from, to], followed, ranges);
    }
  }
  followCutTokens(text, followed, ranges);
  ranges.push(...findKeys(text).ranges);
  return joinRanges(ranges);
}

function* matchesOf(text: string, { pattern, within }: SecretPattern): Generator<Range> {
  if (within === undefined) {
    for (const match of text.matchAll(pattern)) yield valueRange(match);
    return;
  }
  for (const outer of text.matchAll(within)) {
    const end = outer.index + outer[0].length;
    for (const match of outer[0].matchAll(pattern)) {
      const [from, to] = valueRange(match);
      const last = outer.index + to;
      yield [outer.index + from, last === end ? last + wordLength(text, last) : last];
    }
  }
}

function valueRange(match: RegExpMatchArray & { index: number }): Range {
  const value = match.slice(1).find((group) => group !== undefined);
  if (value === undefined) return [match.index, match.index + match[0].length];
  const from = match.index + match[0].lastIndexOf(value);
  return [from, from + value.length];
}

/** Private keys, each to its end. `openKey`: one began and its end is not there, from this place on. Pure. */
function findKeys(text: string): { ranges: Range[]; openKey: number | null } {
  const ranges: Range[] = [];
  let openKey: number | null = null;
  keyEnd.lastIndex = 0;
  const ends = [...text.matchAll(keyEnd)];
  let next = 0;
  for (const begin of text.matchAll(keyBegin)) {
    const after = begin.index + begin[0].length;
    while ((ends[next]?.index ?? Number.POSITIVE_INFINITY) < after) next += 1;
    const end = ends[next];
    if (end === undefined) {
      openKey = begin.index;
      // What follows is in this range as a whole.
      if ((ranges.at(-1)?.[1] ?? 0) < text.length) ranges.push([begin.index, text.length]);
    } else ranges.push([begin.index, end.index + end[0].length]);
  }
  return { ranges, openKey };
}

const rowBreak = new RegExp(String.raw`^${rowEnd}${nextRow}(?=\S*\d|\S{16})([^\s│┃║"']{4,})`, "u");

/** A long value that fills the end of its row goes on in the next one, where tools break it themselves. */
function followRows(text: string, value: Range, followed: Set<number>, ranges: Range[]): void {
  let [begin, end] = value;
  while (end - begin >= leastBroken && !followed.has(end)) {
    followed.add(end);
    const rest = rowBreak.exec(text.slice(end, end + longestPrefix));
    if (rest?.[1] === undefined) return;
    begin = end + rest[0].length - rest[1].length;
    end += rest[0].length;
    ranges.push([begin, end]);
  }
}

const rowHead = new RegExp(String.raw`${nextRow}(?=\S{0,400}\d|\S{16})([^\s│┃║"']{4,400})`, "uy");
const anyToken = new RegExp(tokenPatterns.map(({ pattern }) => pattern.source).join("|"), "g");

/** The last word before a place, at most 40 characters of it, with blanks and a frame behind it. Pure. */
function wordBefore(text: string, place: number): Range {
  let end = place;
  const skipBlanks = () => {
    while (end > 0 && (text[end - 1] === " " || text[end - 1] === "\t")) end -= 1;
  };
  skipBlanks();
  if ("│┃║|".includes(text[end - 1] ?? " ")) end -= 1;
  skipBlanks();
  let begin = end;
  while (begin > 0 && end - begin < longestHead && /[\w.=-]/.test(text[begin - 1] ?? "")) begin -= 1;
  return [begin, end];
}

const longestHead = 40;

/** Tokens that a row's end cuts where so little of them is in the row that `followRows` does not follow. */
function followCutTokens(text: string, followed: Set<number>, ranges: Range[]): void {
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    if (text[at - 1] === "\n") continue;
    const [headFrom, headEnd] = wordBefore(text, at);
    if (headFrom === headEnd) continue;
    rowHead.lastIndex = at;
    const tail = rowHead.exec(text)?.[1];
    if (tail === undefined) continue;
    const head = text.slice(headFrom, headEnd);
    const tailFrom = rowHead.lastIndex - tail.length;
    for (const token of (head + tail).matchAll(anyToken)) {
      const past = token.index + token[0].length - head.length;
      if (past <= 0 || token.index >= head.length || head.length - token.index >= leastBroken) continue;
      const rest: Range = [tailFrom, tailFrom + past];
      ranges.push([headFrom + token.index, headEnd], rest);
      followRows(text, rest, followed, ranges);
    }
  }
}

/**
 * A short word at a row's end with a long one in the next row: together they may have a hint that neither
 * has.
 */
function hasCutWord(text: string): boolean {
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    rowHead.lastIndex = at;
    if (text[at - 1] !== "\n" && rowHead.test(text)) return true;
  }
  return false;
}

/** Overwrites secrets in what a terminal is sent, in parts. */
export interface Redactor {
  /**
   * What may be written of all text so far. A bounded end is held back while it may be the begin of a secret.
   */
  push(text: string): string;
  /** The rest, as if no more came. What comes nevertheless is still compared with it. */
  flush(): string;
  /** Whether something is held back. */
  holds(): boolean;
}

/** Begins of strings, which end with ST or BEL. */
const stringBegins = new Set("]P_^X");
const csi = /\[[0-?]*[ -/]*[@-~]/y;
const partOfCsi = /\[[0-?]*[ -/]*$/y;
const charset = /[()*+\-./]./sy;
const short = /[ -/]*[0-Z\\^_`a-~]/y;
const partOfShort = /[ -/]*$/y;

/** A run of characters that are shown, and where it lies in the raw text. */
interface Piece {
  shown: number;
  raw: number;
  length: number;
}

/**
 * What waits, split: the text that it shows, where each piece of it lies, and the end of the last whole
 * sequence. Each end of a string is looked for once.
 */
function readShown(raw: string): { shown: string; pieces: Piece[]; end: number } {
  const pieces: Piece[] = [];
  const shown: string[] = [];
  let shownLength = 0;
  let from = 0;
  const take = (to: number, separator: string) => {
    if (to > from) pieces.push({ shown: shownLength, raw: from, length: to - from });
    shown.push(raw.slice(from, to), separator);
    shownLength += to - from + separator.length;
  };
  const nextStringEnd = createStringEnds(raw);
  let end = raw.length;
  for (
    let escapeAt = raw.indexOf("\x1b");
    escapeAt !== -1;
    escapeAt = raw.indexOf("\x1b", Math.max(from, escapeAt + 1))
  ) {
    const sequenceEnd = endOfSequence(raw, escapeAt, nextStringEnd);
    if (sequenceEnd === "unfinished" && raw.length - escapeAt <= maxEscape) {
      end = escapeAt;
      break;
    }
    if (typeof sequenceEnd !== "number") continue;
    take(escapeAt, separatorOf(raw.slice(escapeAt, sequenceEnd)));
    from = sequenceEnd;
  }
  take(end, "");
  return { shown: shown.join("").replaceAll("\r", "\n"), pieces, end };
}

/** The place behind the sequence that begins at `escapeAt`; null when it is none. */
function endOfSequence(
  raw: string,
  escapeAt: number,
  nextStringEnd: (from: number) => number | null,
): number | "unfinished" | null {
  const at = escapeAt + 1;
  const kind = raw[at] ?? "";
  if (stringBegins.has(kind)) {
    const stringEnd = nextStringEnd(at + 1);
    if (stringEnd !== null) return stringEnd;
    if (raw.length - escapeAt <= maxEscape) return "unfinished";
  }
  const matches = (form: RegExp) => {
    form.lastIndex = at;
    return form.test(raw);
  };
  if (kind === "[") return matches(csi) ? csi.lastIndex : matches(partOfCsi) ? "unfinished" : null;
  if (matches(charset)) return charset.lastIndex;
  if (matches(short)) return short.lastIndex;
  return matches(partOfShort) ? "unfinished" : null;
}

/** Where the first end of a string from a place on is over, or null; asked for places in order. */
function createStringEnds(raw: string): (from: number) => number | null {
  const find = (end: string) => {
    let at: number | null = -1;
    return (from: number): number | null => {
      if (at !== null && at < from) {
        const found = raw.indexOf(end, from);
        at = found === -1 ? null : found;
      }
      return at === null ? null : at + end.length;
    };
  };
  const [endOfOsc, terminator] = [find("\x07"), find("\x1b\\")];
  return (from) => {
    const ends = [endOfOsc(from), terminator(from)].filter((one) => one !== null);
    return ends.length === 0 ? null : Math.min(...ends);
  };
}

/**
 * Escape sequences stay as they are and do not part a secret, save those that move the cursor: these end a
 * row, or are blanks. At most `longestPrefix` characters without a blank are held back.
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
      inKey !== null || inSecret || secretHint.test(text) || hasCutWord(text) ? secretsIn(text, begin) : [];
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
    const ranges = findSecrets(text);
    if (inSecret) ranges.push([begin, begin + wordLength(text, begin)]);
    if (inKey !== null && inKey > contextLength / 2) {
      keyEnd.lastIndex = Math.max(0, begin - Math.min(longestMark, inKey));
      const end = keyEnd.exec(text);
      ranges.push([begin, end === null ? text.length : end.index + end[0].length]);
    }
    return joinRanges(ranges);
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
const word = /[^\s"'`,;)}\]<>]*/y;

function wordLength(text: string, from: number): number {
  word.lastIndex = from;
  return word.exec(text)?.[0].length ?? 0;
}

/** Of the first and last line of a private key. */
const longestMark = 80;

function lengthOfOpenKey(text: string): number | null {
  const { openKey } = findKeys(text);
  return openKey === null ? null : text.length - openKey;
}

/** The raw text with all places overwritten that show a part of a secret. `ranges` and `pieces`: in order. */
function overwrite(
  raw: string,
  pieces: readonly Piece[],
  ranges: readonly Range[],
  { begin, keep }: { begin: number; keep: number },
): string {
  const places: Range[] = [];
  let first = 0;
  for (const [rangeFrom, rangeTo] of ranges) {
    const [from, to] = [rangeFrom - begin, Math.min(rangeTo - begin, keep)];
    for (let at = first; at < pieces.length; at++) {
      const piece = pieces[at];
      if (piece === undefined || piece.shown >= to) break;
      const pieceEnd = piece.shown + piece.length;
      // Later ranges begin behind this one.
      if (pieceEnd <= from) first = at + 1;
      else {
        const offset = piece.raw - piece.shown;
        places.push([Math.max(from, piece.shown) + offset, Math.min(to, pieceEnd) + offset]);
      }
    }
  }
  return maskRanges(raw, places);
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
