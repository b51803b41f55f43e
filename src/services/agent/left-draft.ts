/**
 * Whether the draft that a composer shows is the whole of `text` and nothing else: the same words however they are
 * wrapped, or one chip that stands for a paste of as many lines, line breaks or characters. `draft`: without glyph
 * and indent. Chips as recorded: `[Pasted text #1 +3 lines]` (claude 2.1.197), `[Pasted Content 11496 chars]`
 * (codex 0.169.0), `[Pasted Text: 201 lines]` (gemini 0.61.0), `[Pasted ~4 lines]` (opencode 1.18.33). Pure.
 */
export function isDraftOf(draft: string, text: string): boolean {
  const chip = /^\[Pasted\b[^\]]*?(\d+) (lines|chars)\]$/.exec(draft.trim());
  if (chip) {
    const count = Number(chip[1]);
    if (chip[2] === "chars") return count === text.length || count === [...text].length;
    const lines = text.split("\n").length;
    return lines > 1 && (count === lines || count === lines - 1);
  }
  const words = squeeze(draft);
  return words !== "" && words === squeeze(text);
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, "");
}
