import type { ReceivedRule } from "../../../src/protocol/tool-profile.ts";
import type { CompiledProfile } from "../../../src/services/terminal/profiles/profile.ts";
import { isOlder } from "../../../src/system/versions.ts";
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

/**
 * What the model receives when `text` is pasted into the tool and submitted (`received` of the profile). A
 * version that is not known counts as the newest. Pure.
 */
function receivedText(text: string, profile: CompiledProfile, version: string | null): string {
  const rule = profile.data.submit.received?.find((one) => appliesTo(one, text, version));
  if (!rule) return text;
  let received = rule.tab === undefined ? text : text.replaceAll("\t", rule.tab);
  for (const character of rule.removes ?? "") received = received.replaceAll(character, "");
  if (rule.normal_form) received = received.normalize(rule.normal_form);
  if (rule.trims === "start" || rule.trims === "both") received = received.trimStart();
  if (rule.trims === "end" || rule.trims === "both") received = received.trimEnd();
  return `${received}${rule.adds ?? ""}`;
}

function appliesTo(rule: ReceivedRule, text: string, version: string | null): boolean {
  const { before_version: before, longer_than: limits } = rule;
  if (before !== undefined && (version === null || !isOlder(version, before))) return false;
  if (!limits) return true;
  const measured = limits.trimmed ? text.trim() : text;
  return measured.length > limits.characters || measured.split("\n").length - 1 > limits.line_breaks;
}
