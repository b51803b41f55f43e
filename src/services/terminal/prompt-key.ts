import type { ToolReport } from "../../protocol/tool-report.ts";
import { sha256 } from "../../system/digest.ts";

/** The digests under which one prompt is known; two prompts are the same when they share one. */
export type PromptKey = readonly string[];

/**
 * What a tool may do to a text between its composer and its report, and nothing else: blanks and line breaks at both
 * ends (each tool cuts or adds some; we put a blank in front of `!` and behind `@word`), line ends as CR LF, a tab as
 * four blanks and composed characters (claude), no zero-width and direction marks (gemini).
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
