import type { ScreenRun } from "./console.ts";

/** Bidi controls, which reorder the text around them. tmux counts no column for them. */
const bidi = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const styles = ["foreground", "background", "bold", "dim", "italic", "underline", "inverse"] as const;

const sameStyle = (one: ScreenRun, other: ScreenRun) => styles.every((name) => one[name] === other[name]);

/**
 * Joins the parts of a screen row, from left to right, into runs: neighbours of one style become one run, and
 * unstyled blanks at the end of the row are left out. Pure.
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
