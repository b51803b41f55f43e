/**
 * Unsafe characters in text of others, for terminals and prompts (security.md 7): they move the cursor,
 * change the style or the direction of text, break a line or are invisible. These are controls (C0, DEL, C1),
 * bidi controls, U+2028 and U+2029, zero-width and tag characters. Joiners and variation selectors are
 * allowed, since emoji and scripts need them.
 */
const hostile =
  /[[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\n\t\u034f\u200c\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]]/gv;

/** Escapes unsafe characters as `\uXXXX`, except newlines and tabs. A JSON document keeps its value. */
export function visible(text: string): string {
  return text.replace(hostile, escaped);
}

/** Like `visible`, on one line: each run of whitespace becomes one blank, and the ends are trimmed. */
export function visibleLine(text: string): string {
  return visible(text.replace(/\s+/g, " ").trim());
}

/**
 * Like `visibleLine`, in double quotes; inner double quotes become single ones. At most `maxLength`
 * characters, the last one an ellipsis for a longer text.
 */
export function quotedLine(text: string, maxLength: number): string {
  const line = visibleLine(text).replaceAll('"', "'");
  return `"${line.length > maxLength ? `${line.slice(0, maxLength - 1)}…`.toWellFormed() : line}"`;
}

/** Like `visible`, for a cell of a table: newlines and tabs become blanks. */
export function visibleCell(text: string): string {
  return visible(text.replace(/[\n\t]/g, " "));
}

/** Removes unsafe characters and variation selectors, which can hide text from a person: for prompts. */
export function withoutInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(hostile, " ")
    .replace(/[\u034f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu, "");
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, at) => {
    const unit = character.charCodeAt(at).toString(16).padStart(4, "0");
    return `\\u${unit}`;
  }).join("");
}

/**
 * Prepares a prompt for a terminal: CR and CRLF become LF; other C0 controls except TAB, DEL and C1 controls
 * are removed, so that no escape sequence ends the paste; final newlines are removed.
 */
export function stripControl(text: string): string {
  return dropControl(text).replace(/\n+$/, "");
}

/** Like `stripControl`, but keeps final newlines: for text that is typed between keys. */
export function dropControl(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
