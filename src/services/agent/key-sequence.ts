import { parseKeySequence } from "../terminal/keys.ts";

/** Why `sequence` is invalid, for people; null when it is valid. Pure. Source: contract 4.3; ruling 26. */
export function keySequenceProblem(sequence: string): string | null {
  const parsed = parseKeySequence(sequence);
  return parsed.ok ? null : parsed.message;
}

/**
 * Makes `sequence` end with exactly one `<[Enter]>` (contract 4.3, `ensure_enter` of reminders).
 * Pure.
 */
export function withOneEnter(sequence: string): string {
  const enter = "<[Enter]>";
  let end = sequence.length;
  while (sequence.endsWith(enter, end)) end -= enter.length;
  return sequence.slice(0, end) + enter;
}

/** Maximum characters of a preview. */
const previewLength = 120;

/**
 * A key sequence for events and logs: the names of its keys and the length of its text, which may be a
 * password. Never throws. Source: ruling 12.
 */
export function previewKeys(sequence: string, escapeSpecialKeys = false): string {
  const parsed = parseKeySequence(sequence, escapeSpecialKeys);
  if (!parsed.ok) return "";
  return parsed.tokens
    .map((token) => (token.kind === "key" ? `<[${token.name}]>` : `(${token.text.length} characters)`))
    .join("")
    .slice(0, previewLength);
}
