import { join } from "node:path";
import type { DesiredConfig } from "../../protocol/files.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { faultLine } from "../../system/storage-fault.ts";
import { createEventLog } from "./event-log.ts";
import { createFileLog, createRotatingFile, type Log } from "./gateway-log.ts";

/** One line of the diagnostic log, before it is written. */
export interface Diagnostic {
  level: DiagnosticLevel;
  /** Dotted: `gateway.http_request_completed`. */
  event: string;
  fields: Readonly<Record<string, unknown>>;
  /** What makes two warnings or errors say the same; the event alone when absent. */
  dedupKey?: string;
}

type DiagnosticLevel = "info" | "warning" | "error";

const forbiddenNames =
  /(?:^|_)(?:attachments?|authorization|bearer|body|cookies?|credential\w*|env|password|prompt|secret|tokens?)$|^raw_|_(?:path|dir|root|file)$/i;
const maxTextLength = 300;
/** As deep as the `loc` of a finding in a list of findings. */
const maxDepth = 4;

/**
 * What of some fields may be written down: nothing under a name that could hold a prompt, a body, a secret or
 * a place on this machine, at any depth, and no long text. Pure. Source: contract 2.8; spec/gateway.md
 * "Diagnostics".
 */
export function safeFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return safe(fields, 0) as Record<string, unknown>;
}

function safe(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.slice(0, maxTextLength);
  if (value === null || typeof value !== "object") return value;
  if (depth >= maxDepth) return undefined;
  if (Array.isArray(value)) return value.slice(0, 20).map((one) => safe(one, depth + 1) ?? null);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !forbiddenNames.test(name))
      .map(([name, one]) => [name, safe(one, depth + 1)]),
  );
}

/** A line of the log, without its end. Pure. */
export function renderDiagnostic(diagnostic: Diagnostic, timestampUtc: string): string {
  const { level, event, fields } = diagnostic;
  const head = { schema_version: 1, timestamp_utc: timestampUtc, level, event };
  const key = level === "info" ? {} : { dedup_key: dedupKeyOf(diagnostic) };
  // Twice: the first gives the order, the second the last word.
  return JSON.stringify({ ...head, ...safeFields(fields), ...head, ...key });
}

function dedupKeyOf(diagnostic: Diagnostic): string {
  return diagnostic.dedupKey ?? diagnostic.event;
}

/** The opt-in diagnostics of a gateway, JSON Lines (contract 2.8). Nothing of it ever throws. */
interface DiagnosticLog {
  record(diagnostic: Diagnostic): void;
  /** Writes the summaries of what was held back. */
  close(): void;
}

interface DiagnosticSettings {
  maxBytes: number;
  backups: number;
}

/**
 * What an operator asked for in desired-config.json; null when diagnostics are off, as they are by default.
 */
export function diagnosticSettings(config: DesiredConfig): DiagnosticSettings | null {
  const {
    enabled = false,
    max_bytes = 1_048_576,
    backup_count = 5,
  } = config.desired_diagnostic_logging ?? {};
  return enabled ? { maxBytes: max_bytes, backups: backup_count } : null;
}

export function createDiagnosticLog(deps: {
  files: Files;
  clock: Clock;
  path: string;
  settings: DiagnosticSettings;
}): DiagnosticLog {
  const { files, clock, path, settings } = deps;
  const file = createRotatingFile({ files, label: "file:diagnostics", path, ...settings });
  let runs: DiagnosticRun[] = [];

  function write(diagnostics: readonly Diagnostic[], nowUtc: string): void {
    for (const diagnostic of diagnostics) {
      try {
        file.append(`${renderDiagnostic(diagnostic, nowUtc)}\n`);
      } catch {
        // Diagnostics are for looking, not for living: without them everything works as before.
      }
    }
  }

  return {
    record(diagnostic) {
      const nowMs = clock.nowMs();
      const next = nextRuns(runs, diagnostic, nowMs);
      runs = next.runs;
      write(next.written, toTimestamp(nowMs));
    },
    close() {
      write(summarize(runs), toTimestamp(clock.nowMs()));
      runs = [];
    },
  };
}

/** A log whose lines of failure (those with an `error`) are diagnostics too, with their text and ids only. */
export function withWarnings(log: Log, diagnostics: DiagnosticLog): Log {
  return {
    line(text, fields) {
      log.line(text, fields);
      if (fields?.["error"] === undefined || fields["error"] === null) return;
      const code = text.toLowerCase().replace(/[^a-z0-9]+/g, "_");
      const ids = Object.entries(fields).filter(([name]) => name.endsWith("_id"));
      diagnostics.record({
        level: "warning",
        event: "gateway.running_log_warning",
        dedupKey: `gateway.running_log_warning ${code}`,
        fields: { message_code: code, ...Object.fromEntries(ids) },
      });
    },
  };
}

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
const maxRunMs = 600_000;
const maxOpenRuns = 32;

/**
 * What a diagnostic does to the runs before it: the runs that go on, least recently seen first, and what is
 * written now, in order. One failing call makes several diagnostics of different keys, so several runs are
 * open at once: a key that is among them extends its own run and ends no other. A key that is not ends every
 * run that held something back. An info line neither begins nor ends a run, but for those whose time is over.
 * Pure. Source: contract 2.8.
 */
export function nextRuns(
  runs: readonly DiagnosticRun[],
  diagnostic: Diagnostic,
  nowMs: number,
): { runs: DiagnosticRun[]; written: Diagnostic[] } {
  const isOver = (run: DiagnosticRun) => nowMs - run.lastMs > quietMs || nowMs - run.firstMs > maxRunMs;
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
function summarize(runs: readonly DiagnosticRun[]): Diagnostic[] {
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

/** All logs and event files of one gateway. */
export type GatewayRecords = ReturnType<typeof openGatewayRecords>;

/** `paths`: of the session's gateway folder. `echo`: gets each line of the log. */
export function openGatewayRecords(deps: {
  files: Files;
  clock: Clock;
  paths: { events: string; logRoot: string; gatewayLog: string };
  diagnostics: DiagnosticSettings | null;
  echo?: ((line: string) => void) | undefined;
}) {
  const { files, clock, paths, echo } = deps;
  const fileLog = createFileLog({ files, clock, path: paths.gatewayLog, ...(echo ? { echo } : {}) });
  const diagnostics =
    deps.diagnostics &&
    createDiagnosticLog({
      files,
      clock,
      path: join(paths.logRoot, "diagnostics", "gateway-diagnostic.log"),
      settings: deps.diagnostics,
    });
  const log = diagnostics ? withWarnings(fileLog, diagnostics) : fileLog;
  const events = createEventLog({
    files,
    clock,
    path: paths.events,
    onError: (error) => log.line("event not written", { error: faultLine(error) }),
  });
  return {
    log,
    events,
    /** Null unless an operator asked for them. */
    diagnostics,
    /** Writes what was held back or put off. For the very end: what comes later is still written. */
    close(): void {
      events.flush();
      fileLog.close();
      diagnostics?.close();
    },
  };
}
