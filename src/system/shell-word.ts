import { visible } from "./visible.ts";

/** One word of a POSIX shell command, exactly. Pure. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The same for people to read: bare where no shell would see more in it than the word, always on one line,
 * and with nothing that a terminal obeys: as `$'…'`, which bash, zsh and ksh know, where it has such
 * characters. Pure.
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
