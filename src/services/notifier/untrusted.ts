import { withoutInvisible } from "../../system/visible.ts";

/** Text of senders is shown, never obeyed and never free to draw: ruling 4. */

/**
 * Between double quotes, on one line, at most `max` characters before its quotes and backslashes are escaped: nothing in
 * it ends the quotation or the line. For every field that a sender or a mail server chose.
 */
export function quoted(text: string, max: number): string {
  return JSON.stringify(oneLine(text, max));
}

/** On one line, without control and format characters, at most `max` characters, the last an ellipsis if cut. */
function oneLine(text: string, max: number): string {
  return cutTo(
    withoutInvisible(text.slice(0, 16 * max))
      .replace(/\s+/g, " ")
      .trim(),
    max,
  ).text;
}

/** As lines: line breaks stay, every other control or format character goes. */
export function plainLines(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .split("\n")
    .map((line) => withoutInvisible(line).trimEnd())
    .join("\n");
}

/** At most `max` code points; a longer text ends in an ellipsis. */
export function cutTo(text: string, max: number): { text: string; cut: boolean } {
  // As many code points as that are twice as many code units at most.
  const points = [...text.slice(0, 2 * max + 1)];
  if (points.length <= max) return { text, cut: false };
  return { text: `${points.slice(0, max - 1).join("")}…`, cut: true };
}
