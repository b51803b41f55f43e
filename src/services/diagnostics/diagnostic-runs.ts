import { toTimestamp } from "../../system/clock.ts";
import { type Diagnostic, type DiagnosticLevel, dedupKeyOf } from "./diagnostic-entry.ts";

/** Warnings or errors that say the same. The first was written, the others are counted. */
export interface DiagnosticRun {
  key: string;
  level: DiagnosticLevel;
  firstEvent: string;
  firstMs: number;
  lastMs: number;
  suppressed: number;
}

/** After so long without another of its kind a run is over. */
const quietMs = 60_000;
/** A failure that goes on is summarised this often, and its next occurrence is written again. */
const longestMs = 600_000;
const maxOpenRuns = 32;

/**
 * What a diagnostic does to the runs before it: the runs that go on, least recently seen first, and what is written
 * now, in order. One failing call makes several diagnostics of different keys, so runs stand side by side: a key that
 * is among them extends its own run and ends no other. A key that is not ends every run that held something back. An
 * info line neither begins nor ends a run, but for those whose time is over. Pure. Source: contract 2.8.
 */
export function nextRuns(
  runs: readonly DiagnosticRun[],
  diagnostic: Diagnostic,
  nowMs: number,
): { runs: DiagnosticRun[]; written: Diagnostic[] } {
  const isOver = (run: DiagnosticRun) => nowMs - run.lastMs > quietMs || nowMs - run.firstMs > longestMs;
  const over = runs.filter(isOver);
  const open = runs.filter((run) => !isOver(run));
  if (diagnostic.level === "info") return { runs: open, written: [...summarize(over), diagnostic] };
  const key = dedupKeyOf(diagnostic);
  const others = open.filter((run) => run.key !== key);
  const same = open.find((run) => run.key === key);
  if (same) {
    const extended = { ...same, lastMs: nowMs, suppressed: same.suppressed + 1 };
    return { runs: [...others, extended], written: summarize(over) };
  }
  const begun = {
    key,
    level: diagnostic.level,
    firstEvent: diagnostic.event,
    firstMs: nowMs,
    lastMs: nowMs,
    suppressed: 0,
  };
  return {
    runs: [...others.filter(({ suppressed }) => suppressed === 0), begun].slice(-maxOpenRuns),
    written: [...summarize([...over, ...others]), diagnostic],
  };
}

/** One summary for each run that held something back. Pure. */
export function summarize(runs: readonly DiagnosticRun[]): Diagnostic[] {
  return runs
    .filter(({ suppressed }) => suppressed > 0)
    .map((run) => ({
      level: run.level,
      event: "diagnostic.dedup_summary",
      dedupKey: run.key,
      fields: {
        first_event: run.firstEvent,
        first_timestamp_utc: toTimestamp(run.firstMs),
        last_timestamp_utc: toTimestamp(run.lastMs),
        suppressed_count: run.suppressed,
      },
    }));
}
