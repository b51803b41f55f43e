/** Columns of a text, counted by character as terminals do. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += Bun.stringWidth(char);
  return width;
}

/**
 * Breaks a text into rows of at most `columns` columns, at any character and at each newline; at least one
 * row. A tab becomes four blanks; another control character becomes a visible symbol.
 */
export function wrapText(text: string, columns: number): string[] {
  const rows: string[] = [];
  for (const line of text.split("\n")) {
    let row = "";
    let width = 0;
    for (const char of visibleText(line)) {
      const charWidth = Bun.stringWidth(char);
      if (width + charWidth > columns && row !== "") {
        rows.push(row);
        row = "";
        width = 0;
      }
      row += char;
      width += charWidth;
    }
    rows.push(row);
  }
  return rows;
}

/** Cuts a text to one row of at most `columns` columns, with `…` when text is missing. */
export function cutText(text: string, columns: number): string {
  const lines = text.split("\n");
  const line = visibleText(lines[0] ?? "");
  if (lines.length === 1 && widthOf(line) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const char of line) {
    width += Bun.stringWidth(char);
    if (width >= columns) break;
    kept += char;
  }
  return columns > 0 ? `${kept}…` : "";
}

function visibleText(line: string): string {
  return line
    .replaceAll("\t", "    ")
    .replace(/[\x00-\x1f]/g, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\x7f-\x9f]/g, "\u2421");
}
