import type { ScreenRun } from "./console.ts";

/** Reorder the text around them, on every screen: bidi controls, which tmux counts as no column. */
const bidi = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const styles = ["foreground", "background", "bold", "dim", "italic", "underline", "inverse"] as const;

const sameStyle = (one: ScreenRun, other: ScreenRun) => styles.every((name) => one[name] === other[name]);

/**
 * The runs of one row of a screen from its parts, from left to right: neighbours of one style are one run,
 * and blanks without a style at the end of the row are left out. Pure.
 */
export function joinRuns(parts: Iterable<ScreenRun>): ScreenRun[] {
  const runs: ScreenRun[] = [];
  for (const part of parts) {
    const run = { ...part, text: part.text.replace(bidi, "") };
    if (run.text === "") continue;
    const last = runs.at(-1);
    if (last && sameStyle(last, run)) last.text += run.text;
    else runs.push(run);
  }
  const end = runs.at(-1);
  if (end && Object.keys(end).length === 1) {
    end.text = end.text.trimEnd();
    if (end.text === "") runs.pop();
  }
  return runs;
}
