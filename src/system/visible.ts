/**
 * Text that others wrote, for terminals and prompts (security.md 7). Characters that move the cursor, change
 * how what follows is drawn, reverse its direction, break a line or show nothing at all: controls (C0, DEL,
 * C1), bidi controls, U+2028 and U+2029, zero-width and tag characters. Joiners and variation selectors stay:
 * emoji and scripts need them.
 */
const hostile =
  /[[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\n\t\u034f\u200c\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]]/gv;

/** Each of them as `\uXXXX`; newlines and tabs stay. A JSON document remains one, of the same value. */
export function visible(text: string): string {
  return text.replace(hostile, escaped);
}

/** The same on one line: whitespace is one blank each time, and none is at the ends. */
export function visibleLine(text: string): string {
  return visible(text.replace(/\s+/g, " ").trim());
}

/**
 * The same in double quotes, which it has none of itself; at most `maxLength` characters, then an ellipsis.
 */
export function quotedLine(text: string, maxLength: number): string {
  const line = visibleLine(text).replaceAll('"', "'");
  return `"${line.length > maxLength ? `${line.slice(0, maxLength - 1)}…`.toWellFormed() : line}"`;
}

/** The same for a cell of a table: as wide as it is, on one line. */
export function visibleCell(text: string): string {
  return visible(text.replace(/[\n\t]/g, " "));
}

/** Without any of them, nor variation selectors, in which text can be hidden from a person: for prompts. */
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
 * What of a prompt may reach a terminal: CR and CRLF become LF; every other C0 control save TAB, DEL and the
 * C1 controls are dropped, so that no escape sequence ends the paste; newlines at the end go.
 */
export function stripControl(text: string): string {
  return dropControl(text).replace(/\n+$/, "");
}

/** The same without a word on newlines at the end: for text that is typed among keys. */
export function dropControl(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
