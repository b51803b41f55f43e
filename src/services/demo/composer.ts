/**
 * The content of the composer: typed text and chips that stand for large pastes. The cursor is at the end.
 */
export interface Composer {
  readonly parts: readonly ComposerPart[];
}

type ComposerPart =
  | { kind: "text"; text: string }
  /** `number` counts the chips of a session from 1. */
  | { kind: "chip"; number: number; text: string };

export const emptyComposer: Composer = { parts: [] };

const CHIP_LINES = 6;
const CHIP_CHARACTERS = 2000;

/** Whether a paste is shown as a chip: more than 6 lines or more than 2000 characters (UTF-16 units). */
export function needsChip(paste: string): boolean {
  return paste.length > CHIP_CHARACTERS || countLines(paste) > CHIP_LINES;
}

export function isEmpty(composer: Composer): boolean {
  return composer.parts.length === 0;
}

/** Adds text at the end. Empty text changes nothing. */
export function insertText(composer: Composer, text: string): Composer {
  if (text === "") return composer;
  const last = composer.parts.at(-1);
  if (last?.kind !== "text") return { parts: [...composer.parts, { kind: "text", text }] };
  return { parts: [...composer.parts.slice(0, -1), { kind: "text", text: last.text + text }] };
}

export function insertChip(composer: Composer, number: number, text: string): Composer {
  return { parts: [...composer.parts, { kind: "chip", number, text }] };
}

/** Takes away the last character, or a chip as a whole. */
export function backspace(composer: Composer): Composer {
  const last = composer.parts.at(-1);
  const before = composer.parts.slice(0, -1);
  if (last?.kind !== "text") return { parts: before };
  const text = [...last.text].slice(0, -1).join("");
  return { parts: text === "" ? before : [...before, { kind: "text", text }] };
}

/** The full text, pastes included: what Enter submits. */
export function submittedText(composer: Composer): string {
  return composer.parts.map((part) => part.text).join("");
}

/** The text as the screen shows it, chips in place of large pastes. */
export function shownText(composer: Composer): string {
  return composer.parts
    .map((part) =>
      part.kind === "text" ? part.text : `[Pasted #${part.number} · ${countLines(part.text)} lines]`,
    )
    .join("");
}

function countLines(text: string): number {
  return text.split("\n").length;
}
