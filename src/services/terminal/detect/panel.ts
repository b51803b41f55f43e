import type { Row } from "../observation.ts";
import type { CompiledProfile } from "../profile.ts";
import { isBlank } from "../screen.ts";
import type { Composer } from "./composer.ts";

/** Something that a person opened beside a visible composer, found by its shape. */
export interface Panel {
  rule: "columns_below" | "list_below" | "panel_above";
  row: number;
}

/** Rows of columns that make a help panel; a footer has fewer. */
const panelRows = 5;

/**
 * Columns of keys or a list with a chosen row under the composer, or a panel between two of the rules above it. Null
 * when there is none. No words are read, so that the panel of another version or language is found too.
 */
export function findPanel(rows: readonly Row[], composer: Composer, profile: CompiledProfile): Panel | null {
  const below: number[] = [];
  for (let at = composer.bottom + 1; at < rows.length; at++) if (!isBlank(rows[at])) below.push(at);
  const text = (at: number) => rows[at]?.text.trimEnd() ?? "";
  const list = below.find((at) => isChosenRow(text(at), [text(at - 1), text(at + 1)]));
  if (list !== undefined) return { rule: "list_below", row: list };
  if (below.filter((at) => twoColumns.test(text(at))).length >= panelRows)
    return { rule: "columns_below", row: composer.bottom + 1 };
  return panelAbove(rows, composer, profile);
}

const chosenRow = /^( *)[❯›▸►→●] +(\S)/u;

/** A marked row whose text begins in the column of a neighbour's text. */
function isChosenRow(text: string, neighbours: readonly string[]): boolean {
  const match = chosenRow.exec(text);
  if (!match) return false;
  const column = match[0].length - 1;
  return neighbours.some((neighbour) => neighbour.search(/\S/u) === column);
}

/** Two texts with a gap between them. */
const twoColumns = /\S {2,}\S|^ {8,}\S/u;

/** A tool that draws a rule above its composer draws another above a panel that it puts between. */
function panelAbove(rows: readonly Row[], composer: Composer, profile: CompiledProfile): Panel | null {
  const { above } = profile.composer;
  if (above === null) return null;
  const rules: number[] = [];
  for (let at = composer.top - 1; at >= 0 && rules.length < 2; at--) {
    const text = rows[at]?.text ?? "";
    if (profile.userCell?.pattern.test(text)) break;
    if (above.test(text)) rules.push(at);
  }
  const [lower, upper] = rules;
  if (lower === undefined || upper === undefined) return null;
  const sameRule = rows[lower]?.text.trimEnd() === rows[upper]?.text.trimEnd();
  const filled = rows.slice(upper + 1, lower).some((row) => !isBlank(row));
  return sameRule && filled ? { rule: "panel_above", row: upper } : null;
}
