import type { DesiredConfig } from "../../protocol/files.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { type Diagnostic, renderDiagnostic } from "./diagnostic-entry.ts";
import { type DiagnosticRun, nextRuns, summarize } from "./diagnostic-runs.ts";
import type { Log } from "./gateway-log.ts";
import { createRotatingFile } from "./rotating-file.ts";

/** The opt-in diagnostics of a gateway, JSON Lines (contract 2.8). Nothing of it ever throws. */
export interface DiagnosticLog {
  record(diagnostic: Diagnostic): void;
  /** Writes the summaries of what was held back. */
  close(): void;
}

export interface DiagnosticSettings {
  maxBytes: number;
  backups: number;
}

/** What an operator asked for in desired-config.json; null when diagnostics are off, as they are by default. */
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

/** A log whose lines of failure (those with an `error`) are diagnostics too, told by their text and ids only. */
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
