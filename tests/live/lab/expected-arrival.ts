import type { LabTool } from "./cli-cache.ts";
import { runsFrom } from "./tool-facts.ts";

/**
 * The text that must reach the model for a prompt given to the gateway: the prompt as we may type it, then
 * what the tool itself does to a paste. Everything else must arrive character by character. The tools' own
 * habits are measured facts of the pinned versions: see the table in `tests/live/README.md`.
 */
export function expectedArrival(tool: LabTool, prompt: string): string {
  return toolHabits[tool](typedText(tool, prompt));
}

/**
 * What the gateway types (spec/terminal.md 6.3-6.5): line ends as LF, no control characters but TAB and LF, no
 * newlines at the end, a blank before a leading `!` of claude and codex and after a last word that would keep
 * Enter from submitting: `@name` everywhere, `$name` on codex, a backslash on claude and gemini.
 */
function typedText(tool: LabTool, prompt: string): string {
  const text = prompt
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
    .replace(/\n+$/, "");
  const hasShellMode = tool === "claude" || tool === "codex";
  const before = hasShellMode && text.startsWith("!") ? " " : "";
  const after = enterTaker[tool].test(text) ? " " : "";
  return `${before}${text}${after}`;
}

/** A last word after which Enter completes something or breaks the line. */
const enterTaker: Readonly<Record<LabTool, RegExp>> = {
  claude: /(?:^|\s)@\S*$|\\$/,
  codex: /(?:^|\s)[@$]\S*$/,
  gemini: /@\S*$|\\$/,
  opencode: /(?:^|\s)@\S*$/,
};

const toolHabits: Readonly<Record<LabTool, (typed: string) => string>> = {
  claude(typed) {
    const text = typed.replaceAll("\t", "    ");
    return isClaudeChip(typed) ? text : text.normalize("NFC").trimEnd();
  },
  codex: (typed) => typed.trim(),
  gemini: (typed) => typed.replace(/[\u200b\u202a-\u202e\ufeff]/g, "").trim(),
  opencode: (typed) => (isOpencodeChip(typed) ? `${typed.trim()} ` : typed),
};

/**
 * A paste that claude shows as `[Pasted text]` goes to the model as it was pasted, but for its tabs. A version that
 * wraps such a paste into markup is given smaller ones.
 */
function isClaudeChip(typed: string): boolean {
  if (runsFrom("claude", "2.1.300")) return false;
  return typed.length > 800 || typed.split("\n").length > 3;
}

/** A paste that opencode shows as `[Pasted ~N lines]` loses the blanks around it and gets one behind. */
function isOpencodeChip(typed: string): boolean {
  return typed.trim().length > 150 || typed.trim().split("\n").length >= 3;
}
