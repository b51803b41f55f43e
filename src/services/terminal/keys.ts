import type { ToolReport } from "../../protocol/tool-report.ts";
import { sha256 } from "../../system/digest.ts";

/** The keys a caller may press (ruling 26), by the names tmux gives them. */
export const keyNames = [
  "Enter",
  "Escape",
  "Tab",
  "BSpace",
  "Up",
  "Down",
  "Left",
  "Right",
  "C-c",
  "C-d",
  "C-u",
  "C-z",
] as const;
export type KeyName = (typeof keyNames)[number];

/** `C-e` moves the cursor to the end of a line: no caller may press it, but clearing a draft needs it. */
export type KeyToken = { kind: "key"; name: KeyName | "C-e" } | { kind: "text"; text: string };

type KeySequence =
  | { ok: true; tokens: KeyToken[] }
  | { ok: false; reason: "blank" | "unknown_key"; message: string };

/** A token: no blank and none of `<>[]` inside. Everything else, also `<[a b]>`, is literal text. */
const TOKEN = /<\[([^\s<>[\]]+)\]>/g;

/**
 * Reads the `<[key-name]>` grammar of send-keys. Names are case-sensitive; a well-formed token with another
 * name is an error that lists the valid ones, and then nothing is to be sent. `escapeSpecialKeys`: the whole
 * sequence is literal. No Enter is implied. Neighbouring tokens are never both text. Never throws.
 * Source: rulings 26; gateway 4.3.
 */
export function parseKeySequence(sequence: string, escapeSpecialKeys = false): KeySequence {
  if (sequence.trim() === "") return { ok: false, reason: "blank", message: "the key sequence is blank" };
  if (escapeSpecialKeys) return { ok: true, tokens: [{ kind: "text", text: sequence }] };
  const tokens: KeyToken[] = [];
  let start = 0;
  for (const match of sequence.matchAll(TOKEN)) {
    const name = match[1] ?? "";
    if (!isKeyName(name)) {
      const message = `unknown key <[${name}]>; valid names: ${keyNames.join(", ")}`;
      return { ok: false, reason: "unknown_key", message };
    }
    if (match.index > start) tokens.push({ kind: "text", text: sequence.slice(start, match.index) });
    tokens.push({ kind: "key", name });
    start = match.index + match[0].length;
  }
  if (start < sequence.length) tokens.push({ kind: "text", text: sequence.slice(start) });
  return { ok: true, tokens };
}

function isKeyName(name: string): name is KeyName {
  return (keyNames as readonly string[]).includes(name);
}

/** The digests under which one prompt is known; two prompts are the same when they share one. */
export type PromptKey = readonly string[];

/**
 * What a tool may do to a text between its composer and its report, and nothing else: blanks and line breaks
 * at both ends (each tool cuts or adds some; we put a blank in front of `!` and behind `@word`), line ends as
 * CR LF, a tab as four blanks and composed characters (claude), no zero-width and direction marks (gemini).
 */
function normalForm(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replaceAll("\t", "    ")
    .replace(/[\u200b\u202a-\u202e\ufeff]/g, "")
    .normalize("NFC")
    .trim();
}

/** The key of a text that we type. A report that was cut is known by the digest of a whole text alone. */
export function keyOfText(text: string): PromptKey {
  const normal = normalForm(text);
  const forms = [text, text.trimEnd(), text.trim(), `${text.trim()} `, normal, `${normal}\n`];
  return [...new Set(forms)].map(sha256);
}

/** The key of the prompt that a report names; null when it names none. */
export function keyOfReport({ prompt, prompt_sha256 }: ToolReport): PromptKey | null {
  if (prompt_sha256 === null) return null;
  const whole = prompt !== null && sha256(prompt) === prompt_sha256;
  return whole ? [prompt_sha256, sha256(normalForm(prompt))] : [prompt_sha256];
}

export function isSamePrompt(one: PromptKey | null, other: PromptKey | null): boolean {
  return one !== null && other !== null && one.some((digest) => other.includes(digest));
}
