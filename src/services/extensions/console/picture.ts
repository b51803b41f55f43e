import type { ScreenAbsent, ScreenRun, ScreenUpdate } from "../../../protocol/console.ts";
import { joinRuns } from "../../../protocol/screen-runs.ts";
import type { Observation, Span } from "../../terminal/screen.ts";

/** The screen of one agent as runs of text, with the revision at which each row changed last. */
interface Picture {
  agentId: string;
  atUtc: string;
  epoch: number;
  revision: number;
  /**
   * Before this revision there was no picture, or one of another size or instance: those rows mean nothing.
   */
  beganAt: number;
  width: number;
  height: number;
  cursor: { row: number; column: number } | null;
  rows: readonly PictureRow[];
}

interface PictureRow {
  runs: readonly ScreenRun[];
  changedAt: number;
}

/** A picture, or why there is none; `revision` grows with each of both. */
export type Shown = Picture | { absent: string; agentId: string; atUtc: string; revision: number };

/** What a screen shows at one moment. */
export interface Frame extends Pick<Picture, "atUtc" | "epoch" | "width" | "height" | "cursor"> {
  rows: readonly (readonly ScreenRun[])[];
}

/** The next picture; the same object when the frame shows nothing else. Pure. */
export function paint(agentId: string, before: Shown | null, frame: Frame): Picture {
  const former = before !== null && "rows" in before ? before : null;
  const goesOn =
    former !== null &&
    former.width === frame.width &&
    former.height === frame.height &&
    former.epoch === frame.epoch;
  const revision = (before?.revision ?? 0) + 1;
  let changed = !goesOn || !sameCursor(former.cursor, frame.cursor);
  const rows = Array.from({ length: frame.height }, (_, at): PictureRow => {
    const runs = frame.rows[at] ?? [];
    const was = goesOn ? former.rows[at] : undefined;
    if (was && Bun.deepEquals(was.runs, runs)) return was;
    changed = true;
    return { runs, changedAt: revision };
  });
  if (former !== null && !changed) return former;
  const { atUtc, epoch, width, height, cursor } = frame;
  const beganAt = goesOn ? former.beganAt : revision;
  return { agentId, atUtc, epoch, revision, beganAt, width, height, cursor, rows };
}

/** There is no picture now; the same object while the reason is the same. Pure. */
export function showAbsent(agentId: string, before: Shown | null, absent: string, atUtc: string): Shown {
  if (before !== null && "absent" in before && before.absent === absent) return before;
  return { absent, agentId, atUtc, revision: (before?.revision ?? 0) + 1 };
}

/** What a viewer gets that has seen everything up to `seen` (null: nothing). Null when that is all. Pure. */
export function updateSince(shown: Shown, seen: number | null): ScreenUpdate | ScreenAbsent | null {
  if (seen !== null && seen >= shown.revision) return null;
  const { agentId: agent_id, atUtc: at_utc, revision } = shown;
  if ("absent" in shown) return { kind: "screen_absent", agent_id, at_utc, reason: shown.absent };
  const { epoch, width, height, cursor } = shown;
  const whole = seen === null || seen < shown.beganAt;
  const rows = shown.rows.flatMap(({ runs, changedAt }, row) =>
    (whole ? runs.length > 0 : changedAt > seen) ? [{ row, runs: [...runs] }] : [],
  );
  return { kind: "screen", agent_id, at_utc, epoch, revision, whole, width, height, cursor, rows };
}

/** The frame that an update leads to; null when it says only what changed and the rest is not known. Pure. */
export function frameAfter(before: Shown | null, update: ScreenUpdate): Frame | null {
  const { at_utc: atUtc, epoch, width, height, cursor } = update;
  const former = before !== null && "rows" in before ? before : null;
  if (!update.whole && former === null) return null;
  const rows = update.whole || former === null ? [] : former.rows.map(({ runs }) => runs);
  const next: (readonly ScreenRun[])[] = Array.from({ length: height }, (_, at) => rows[at] ?? []);
  for (const { row, runs } of update.rows) if (row < height) next[row] = runs;
  return { atUtc, epoch, width, height, cursor, rows: next };
}

/** The runs of each row; blanks without a style at the end of a row are left out. Pure. */
export function runsOf(rows: Observation["rows"]): (readonly ScreenRun[])[] {
  return rows.map(({ spans }) => joinRuns(spans.map(toRun)));
}

function toRun({ text, foreground, background, ...flags }: Span): ScreenRun {
  return {
    text,
    ...(foreground === null ? {} : { foreground }),
    ...(background === null ? {} : { background }),
    ...Object.fromEntries(Object.entries(flags).filter(([, set]) => set)),
  };
}

function sameCursor(one: Picture["cursor"], other: Picture["cursor"]): boolean {
  return one?.row === other?.row && one?.column === other?.column;
}
