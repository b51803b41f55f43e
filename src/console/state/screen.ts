import type { ScreenEvent, ScreenRun } from "../../protocol/console.ts";

/** The screen of one agent as the server renders it: rows of styled runs. Pure. */
export interface ScreenView {
  revision: number;
  width: number;
  height: number;
  rows: ReadonlyMap<number, readonly ScreenRun[]>;
  /** Why there is no picture; null while there is one. */
  absent: string | null;
}

export const noScreen: ScreenView = { revision: 0, width: 80, height: 24, rows: new Map(), absent: null };

/** Takes one event of the stream. Rows that it does not name are as before, unless it is whole. */
export function applyScreen(view: ScreenView, event: ScreenEvent): ScreenView {
  if (event.kind === "screen_absent") return { ...noScreen, absent: event.reason };
  const rows = new Map(event.whole ? [] : view.rows);
  for (const { row, runs } of event.rows) {
    if (runs.length === 0) rows.delete(row);
    else rows.set(row, runs);
  }
  return { revision: event.revision, width: event.width, height: event.height, rows, absent: null };
}

/** The `max` rows that end with the last one that is not blank, top first. */
export function lastRows(view: ScreenView, max: number): { row: number; runs: readonly ScreenRun[] }[] {
  const filled = [...view.rows].filter(([, runs]) => runs.some(({ text }) => text.trim() !== ""));
  const last = filled.reduce((end, [row]) => Math.max(end, row), -1);
  const first = Math.max(0, last - max + 1);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
    row: first + index,
    runs: view.rows.get(first + index) ?? [],
  }));
}

/** Which tiles of a grid are to be drawn: the visible rows and one above and below. */
export interface GridWindow {
  columns: number;
  /** Index of the first tile and of the one after the last. */
  from: number;
  to: number;
  totalPx: number;
  offsetPx: number;
}

export function gridWindow(grid: {
  count: number;
  widthPx: number;
  heightPx: number;
  scrollPx: number;
  tileWidthPx: number;
  tileHeightPx: number;
  gapPx: number;
}): GridWindow {
  const stepX = grid.tileWidthPx + grid.gapPx;
  const stepY = grid.tileHeightPx + grid.gapPx;
  const columns = Math.max(1, Math.floor((grid.widthPx + grid.gapPx) / stepX));
  const lines = Math.ceil(grid.count / columns);
  const first = Math.min(Math.max(0, Math.floor(grid.scrollPx / stepY) - 1), Math.max(0, lines - 1));
  const last = Math.min(lines, Math.ceil((grid.scrollPx + grid.heightPx) / stepY) + 1);
  return {
    columns,
    from: first * columns,
    to: Math.min(grid.count, last * columns),
    totalPx: Math.max(0, lines * stepY - grid.gapPx),
    offsetPx: first * stepY,
  };
}
