import { stripControl } from "../terminal/control-characters.ts";
import type { CompiledProfile } from "../terminal/profile.ts";

/**
 * The text that is really typed for a prompt: without control characters and trailing newlines, with a leading
 * blank where the tool would read the first character as a command of its own, and a trailing blank where the
 * last word would open a popup that takes Enter. Slash commands the person asked for stay commands. Null when
 * nothing is left to type. Source: spec/terminal.md 6.3-6.5.
 */
export function prepareText(prompt: string, profile: CompiledProfile): string | null {
  const text = stripControl(prompt);
  if (text.trim() === "") return null;
  const before = profile.data.submit.blank_before.some((start) => text.startsWith(start)) ? " " : "";
  const after = profile.blankAfter?.test(text) ? " " : "";
  return `${before}${text}${after}`;
}

/** How long to leave a pasted text alone before Enter, milliseconds (spec/terminal.md 6.6). */
export function enterDelayMs(text: string, profile: CompiledProfile): number {
  const { enter_delay_ms, enter_delay_ms_per_kib, enter_delay_max_ms } = profile.data.submit;
  const kib = Math.max(0, text.length / 1024 - 4);
  return Math.min(enter_delay_max_ms, enter_delay_ms + enter_delay_ms_per_kib * kib);
}
