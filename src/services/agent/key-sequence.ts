import { parseKeySequence } from "../terminal/keys.ts";

/** Why `sequence` cannot be pressed, for people; null when it can. Pure. Source: contract 4.3; ruling 26. */
export function keySequenceProblem(sequence: string): string | null {
  const parsed = parseKeySequence(sequence);
  return parsed.ok ? null : parsed.message;
}

/**
 * The same sequence with exactly one `<[Enter]>` at its end (contract 4.3, `ensure_enter` of reminders).
 * Pure.
 */
export function withOneEnter(sequence: string): string {
  const enter = "<[Enter]>";
  let end = sequence.length;
  while (sequence.endsWith(enter, end)) end -= enter.length;
  return sequence.slice(0, end) + enter;
}

/** At most this many characters of a sequence are described. */
const previewLength = 120;

/**
 * A key sequence as events and logs may show it: its keys by name, of its text the length alone, because what
 * is typed may be a password. Never throws. Source: ruling 12.
 */
export function previewKeys(sequence: string, escapeSpecialKeys = false): string {
  const parsed = parseKeySequence(sequence, escapeSpecialKeys);
  if (!parsed.ok) return "";
  return parsed.tokens
    .map((token) => (token.kind === "key" ? `<[${token.name}]>` : `(${token.text.length} characters)`))
    .join("")
    .slice(0, previewLength);
}
