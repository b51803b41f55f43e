import { type Diagnostic, type DiagnosticLevel, dedupKeyOf } from "./diagnostic-entry.ts";

/** Warnings or errors in a row that say the same. The first was written, the others are counted. */
export interface DiagnosticRun {
  key: string;
  level: DiagnosticLevel;
  firstEvent: string;
  firstUtc: string;
  lastUtc: string;
  suppressed: number;
}

/**
 * What a diagnostic does to the run before it: the run that goes on, and what is written now, in order. An info line
 * neither begins nor ends a run: a failure that repeats between successes is still one failure. Pure. Source:
 * contract 2.8.
 */
export function nextRun(
  run: DiagnosticRun | null,
  diagnostic: Diagnostic,
  nowUtc: string,
): { run: DiagnosticRun | null; written: Diagnostic[] } {
  if (diagnostic.level === "info") return { run, written: [diagnostic] };
  const key = dedupKeyOf(diagnostic);
  if (run?.key === key) {
    return { run: { ...run, lastUtc: nowUtc, suppressed: run.suppressed + 1 }, written: [] };
  }
  return {
    run: {
      key,
      level: diagnostic.level,
      firstEvent: diagnostic.event,
      firstUtc: nowUtc,
      lastUtc: nowUtc,
      suppressed: 0,
    },
    written: [...summarize(run), diagnostic],
  };
}

/** What is told of a run that is over: nothing when nothing was held back. Pure. */
export function summarize(run: DiagnosticRun | null): Diagnostic[] {
  if (!run || run.suppressed === 0) return [];
  return [
    {
      level: run.level,
      event: "diagnostic.dedup_summary",
      dedupKey: run.key,
      fields: {
        first_event: run.firstEvent,
        first_timestamp_utc: run.firstUtc,
        last_timestamp_utc: run.lastUtc,
        suppressed_count: run.suppressed,
      },
    },
  ];
}
