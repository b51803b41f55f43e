import { cutText } from "../services/demo/layout.ts";
import type { AgentSnapshot } from "../services/fleet/agent-snapshot.ts";
import { renderTable } from "./format.ts";
import { snapshotHeader, toSnapshotCells } from "./snapshot-text.ts";

/** Columns that are left out where the terminal is too narrow, the first one first. */
const dispensable = ["ID", "GATEWAY", "TOOL", "LAST TURN", "STATE"] as const;

/**
 * The table of all agents as it fits a terminal: lines of at most `columns`, at most `rows` of them. A line of its
 * own tells how many agents do not fit. Pure.
 */
export function renderSnapshotScreen(screen: {
  title: string;
  snapshots: readonly AgentSnapshot[];
  nowMs: number;
  columns: number;
  rows: number;
}): string[] {
  const { title, snapshots, columns } = screen;
  const room = Math.max(1, screen.rows - 2);
  const shown = snapshots.length <= room ? snapshots : snapshots.slice(0, room - 1);
  const all = [[...snapshotHeader], ...shown.map((snapshot) => toSnapshotCells(snapshot, screen.nowMs))];
  const left = new Set<string>();
  const table = () => {
    const cells = all.map((row) => row.filter((_, index) => !left.has(snapshotHeader[index] ?? "")));
    return renderTable(cells[0] ?? [], cells.slice(1)).split("\n");
  };
  let lines = table();
  for (const name of dispensable) {
    if (lines.every((line) => line.length <= columns)) break;
    left.add(name);
    lines = table();
  }
  const rest = snapshots.length - shown.length;
  return [title, ...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].map((line) => cutText(line, columns));
}
