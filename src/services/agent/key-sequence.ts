import { parseKeySequence } from "../terminal/keys.ts";

/** Why `sequence` cannot be pressed, for people; null when it can. Pure. Source: contract 4.3; ruling 26. */
export function keySequenceProblem(sequence: string): string | null {
  const parsed = parseKeySequence(sequence);
  return parsed.ok ? null : parsed.message;
}

/** The same sequence with exactly one `<[Enter]>` at its end (contract 4.3, `ensure_enter` of reminders). Pure. */
export function withOneEnter(sequence: string): string {
  const enter = "<[Enter]>";
  let end = sequence.length;
  while (sequence.endsWith(enter, end)) end -= enter.length;
  return sequence.slice(0, end) + enter;
}
