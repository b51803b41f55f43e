import { visible } from "./visible.ts";

/** Quotes a text as one word of a POSIX shell command. Pure. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * One word of a shell command for people: unquoted when no shell gives it another meaning, always on one
 * line, and without characters that control a terminal. A word with such characters is written as `$'…'`, for
 * bash, zsh and ksh. Pure.
 */
export function shellWord(text: string): string {
  if (/^[\w./:@%+-]+$/.test(text)) return text;
  const shown = Array.from(text, (character) => (isPlain(character) ? character : escaped(character)));
  if (shown.join("") === text) return quoteShell(text);
  return `$'${shown.map((one) => (one === "\\" || one === "'" ? `\\${one}` : one)).join("")}'`;
}

const isPlain = (character: string) =>
  character !== "\n" && character !== "\t" && visible(character) === character;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  // A `\x` above 7f would be a byte, not a character.
  if (code <= 0x7f) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
