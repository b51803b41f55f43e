import type { Marker } from "../../../protocol/tool-profile.ts";
import type { CompiledMarker, CompiledProfile } from "../profiles/profile.ts";
import { commonBackground, firstVisible, isBlank, isRed, isReddish, type Row } from "../screen.ts";

/** What is above and below the composer, cut into the parts that rules are bound to. Row numbers from 0. */
export interface Regions {
  /** Rows with text above the composer, without its chrome; newest last. */
  transcript: number[];
  /** Of those, at most 24 after the last closing row or user cell. */
  sinceBoundary: number[];
  /** Of those, at most 24 after the last user cell. */
  sinceUser: number[];
  /** Rows with text under the composer. */
  below: number[];
  userCell: number | null;
  /** The last closing row. */
  turnEnd: number | null;
  composerTop: number;
}

export interface MarkerHit {
  id: string;
  row: number;
  text: string;
  /** Group 1 of the pattern, if it has one and it took part. */
  detail: string | null;
}

const liveEdgeRows = 24;
const wrappedRows = 4;

export function cutRegions(
  rows: readonly Row[],
  composer: { transcriptEnd: number; bottom: number },
  profile: CompiledProfile,
): Regions {
  const isChrome = (row: Row) => profile.composer.chromeAbove.some((pattern) => pattern.test(row.text));
  const transcript: number[] = [];
  for (let at = 0; at < composer.transcriptEnd; at++) {
    const row = rows[at];
    if (row && !isBlank(row) && !isChrome(row)) transcript.push(at);
  }
  const text = (at: number) => rows[at]?.text ?? "";
  const { userCell: cell } = profile;
  // Without colours no cell has a background.
  const colours = rows.some((row) => row.spans.some(({ background }) => background !== null));
  const style = cell?.style === "background" && !colours ? undefined : cell?.style;
  const userCell =
    transcript.findLast((at) => cell?.pattern.test(text(at)) && hasStyle(rows[at], style)) ?? null;
  const turnEnd = transcript.findLast((at) => closesTurn(rows[at], profile)) ?? null;
  const boundary = Math.max(userCell ?? -1, turnEnd ?? -1);
  const below: number[] = [];
  for (let at = composer.bottom + 1; at < rows.length; at++) if (!isBlank(rows[at])) below.push(at);
  return {
    transcript,
    sinceBoundary: transcript.filter((at) => at > boundary).slice(-liveEdgeRows),
    sinceUser: transcript.filter((at) => at > (userCell ?? -1)).slice(-liveEdgeRows),
    below,
    userCell,
    turnEnd,
    composerTop: composer.transcriptEnd,
  };
}

/** Whether the row is one with which the tool closes a turn. */
export function closesTurn(row: Row | undefined, profile: CompiledProfile): boolean {
  return profile.turnEnd.some((end) => end.pattern.test(row?.text ?? "") && hasStyle(row, end.style));
}

/** Whether the row is drawn in `style`; any row is where none is asked for. */
export function hasStyle(row: Row | undefined, style: Marker["style"]): boolean {
  if (style === undefined) return true;
  const span = row ? firstVisible(row) : null;
  if (!row || !span) return false;
  const last = row.spans.findLast((one) => one.text.trim() !== "") ?? span;
  switch (style) {
    case "background":
      return span.background !== null;
    case "bold":
      return span.bold;
    case "dim":
      return span.dim;
    case "red":
      return isRed(span);
    case "not_red":
      return !isRed(span);
    case "ends_red":
      return isReddish(last);
    case "badge":
      return last.background !== null && last.background !== commonBackground(row);
  }
}

/**
 * For each marker the newest row of its region that it fits. A `last_row` marker reads the row together with
 * the rows that continue it. `edge` is the region that `live_edge` stands for.
 */
export function findMarkers(
  rows: readonly Row[],
  regions: Regions,
  markers: readonly CompiledMarker[],
  edge: "sinceBoundary" | "sinceUser",
): MarkerHit[] {
  return markers.flatMap((marker): MarkerHit[] => {
    let continued = "";
    let missing = marker.rows ?? 1;
    for (const at of candidateRows(rows, regions, marker.where, edge)) {
      const row = rows[at];
      const text = row?.text.trimEnd() ?? "";
      const match = marker.pattern.exec(text + continued);
      if (row && match && hasStyle(row, marker.style) && --missing === 0) {
        return [{ id: marker.id, row: at, text: row.text.trim(), detail: match[1]?.trim() || null }];
      }
      if (marker.where === "last_row") continued = ` ${text.trim()}${continued}`;
    }
    return [];
  });
}

function candidateRows(
  rows: readonly Row[],
  regions: Regions,
  where: Marker["where"],
  edge: "sinceBoundary" | "sinceUser",
): number[] {
  switch (where) {
    case "live_edge":
      return regions[edge].toReversed();
    case "transcript":
      return regions.transcript.toReversed();
    case "below":
      return regions.below;
    case "last_row":
      return newestCell(rows, regions.transcript);
    case "adjacent":
      return adjacentRows(rows, regions.composerTop);
  }
}

/**
 * The newest row and the rows it may continue, at most four, newest first. A row that begins with a blank or
 * a word continues the one above it: codex wraps its notices without an indent.
 */
export function newestCell(rows: readonly Row[], transcript: readonly number[]): number[] {
  const newest = transcript.at(-1);
  if (newest === undefined) return [];
  const cell = [newest];
  for (let at = newest; cell.length <= wrappedRows && at > 0; at--) {
    if (!/^[\s\w]/u.test(rows[at]?.text ?? "") || isBlank(rows[at - 1])) break;
    cell.push(at - 1);
  }
  return cell;
}

/** Rows right on top of the composer without a gap. */
function adjacentRows(rows: readonly Row[], top: number): number[] {
  const adjacent: number[] = [];
  for (let at = top - 1; at >= 0 && !isBlank(rows[at]); at--) adjacent.push(at);
  return adjacent;
}
