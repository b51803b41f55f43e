import { receivedText } from "../../../src/services/agent/prompt-text.ts";
import { compiled } from "../../unit/terminal/corpus.ts";
import { type LabTool, versionOf } from "./cli-cache.ts";

/**
 * The text that must reach the model for a prompt given to the gateway: the prompt as we may type it, then
 * what the tool at the version that runs does to a paste by its profile (`submit.received`). Everything else
 * must arrive character by character. How it was measured: `tests/live/README.md`.
 */
export function expectedArrival(tool: LabTool, prompt: string): string {
  return receivedText(typedText(tool, prompt), compiled(tool), versionOf(tool, process.env));
}

/**
 * What the gateway types (spec/terminal.md 6.3-6.5): line ends as LF, no control characters but TAB and LF,
 * no newlines at the end, a blank before a leading `!` of claude and codex and after a last word that would
 * keep Enter from submitting: `@name` everywhere, `$name` on codex, a backslash on claude and gemini.
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
