import type { Frame } from "./screen.ts";

/** Takes the screen over: bracketed paste on, screen empty. */
export const enterSequence = "\x1b[?2004h\x1b[H\x1b[2J";

/** Gives the screen back below the last frame, which stays visible: bracketed paste off, cursor on, no title. */
export function leaveSequence(last: Frame | null): string {
  return `\x1b[${last?.rows.length ?? 1};1H\r\n\x1b[0m\x1b[?7h\x1b[?25h\x1b[?2004l\x1b]2;\x07`;
}

/**
 * The bytes that turn the screen from `previous` into `frame`; empty when nothing changed. Only rows that
 * differ are written. `previous` null: whatever stands there is erased.
 */
export function paint(previous: Frame | null, frame: Frame): string {
  const before = previous?.rows ?? [];
  const changed: string[] = [];
  for (let row = 0; row < Math.max(before.length, frame.rows.length); row++) {
    const text = frame.rows[row] ?? "";
    if (previous && (before[row] ?? "") === text) continue;
    changed.push(`\x1b[${row + 1};1H\x1b[2K${text}\x1b[0m`);
  }
  const { row, col } = frame.cursor;
  const moved = previous?.cursor.row !== row || previous.cursor.col !== col;
  const title = previous?.title === frame.title ? "" : `\x1b]2;${frame.title}\x07`;
  if (changed.length === 0 && !moved) return title;
  // Without auto-wrap a character whose width the terminal counts otherwise cannot push rows down.
  const rows = `\x1b[?25l\x1b[?7l${previous ? "" : "\x1b[2J"}${changed.join("")}\x1b[?7h`;
  return `${title}${rows}\x1b[${row + 1};${col + 1}H\x1b[?25h`;
}
