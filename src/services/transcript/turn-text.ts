/** A part of a text by bytes of UTF-8, never half a character. */
export interface TextPart {
  text: string;
  /** Of the whole text. */
  bytes: number;
  /** Byte at which the next part begins; null when nothing follows. */
  next: number | null;
}

/** At most `maxBytes` from byte `offset` on, and at least one character where there is one. Pure. */
export function cutText(text: string, offset: number, maxBytes: number): TextPart {
  const whole = Buffer.from(text);
  const start = characterStart(whole, Math.min(offset, whole.length));
  let end = characterStart(whole, Math.min(whole.length, start + maxBytes));
  // A character that is larger than the part is given whole.
  if (end === start) end = characterEnd(whole, start);
  return {
    text: whole.toString("utf8", start, end),
    bytes: whole.length,
    next: end < whole.length ? end : null,
  };
}

const isInside = (bytes: Buffer, at: number) => at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80;

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isInside(bytes, start)) start -= 1;
  return start;
}

function characterEnd(bytes: Buffer, at: number): number {
  let end = Math.min(bytes.length, at + 1);
  while (isInside(bytes, end)) end += 1;
  return end;
}

/** The words of a search, each once. Pure. */
export function searchWords(q: string): string[] {
  return [...new Set(folded(q).split(/\s+/u))].filter((word) => word !== "");
}

const maxMatch = 300;

/** The line that holds the first word when the texts together hold all words, in any case; null otherwise. Pure. */
export function matchOf(words: readonly string[], texts: readonly string[]): string | null {
  const all = texts.map(folded);
  if (!words.every((word) => all.some((text) => text.includes(word)))) return null;
  const [first = ""] = words;
  const lines = texts.flatMap((text) => text.split("\n"));
  const line = lines.find((one) => folded(one).includes(first)) ?? lines[0] ?? "";
  const from = Math.max(0, folded(line).indexOf(first) - maxMatch / 2);
  return line
    .slice(from, from + maxMatch)
    .toWellFormed()
    .trim();
}

function folded(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
