import { cutText } from "../services/demo/layout.ts";
import type { Glance } from "../services/fleet/glance.ts";
import { renderTable } from "./format.ts";
import { glanceHeader, toGlanceCells } from "./glance-text.ts";

/** Columns that are left out where the terminal is too narrow, the first one first. */
const dispensable = ["ID", "GATEWAY", "TOOL", "LAST TURN", "STATE"] as const;

/**
 * The table of all agents as it fits a terminal: lines of at most `columns`, at most `rows` of them. A line of its
 * own tells how many agents do not fit. Pure.
 */
export function renderGlanceScreen(screen: {
  title: string;
  glances: readonly Glance[];
  nowMs: number;
  columns: number;
  rows: number;
}): string[] {
  const { title, glances, columns } = screen;
  const room = Math.max(1, screen.rows - 2);
  const shown = glances.length <= room ? glances : glances.slice(0, room - 1);
  const all = [[...glanceHeader], ...shown.map((glance) => toGlanceCells(glance, screen.nowMs))];
  const left = new Set<string>();
  const table = () => {
    const cells = all.map((row) => row.filter((_, index) => !left.has(glanceHeader[index] ?? "")));
    return renderTable(cells[0] ?? [], cells.slice(1)).split("\n");
  };
  let lines = table();
  for (const name of dispensable) {
    if (lines.every((line) => line.length <= columns)) break;
    left.add(name);
    lines = table();
  }
  const rest = glances.length - shown.length;
  return [title, ...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].map((line) => cutText(line, columns));
}
