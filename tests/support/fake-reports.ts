import type { ToolReport } from "../../src/protocol/tool-report.ts";
import type { ReportSource } from "../../src/services/signals/report-source.ts";
import { sha256 } from "../../src/system/digest.ts";

export interface FakeReports extends ReportSource {
  /** Passes a report on to all listeners, now. */
  report(given: Pick<ToolReport, "kind"> & Partial<ToolReport>): ToolReport;
  /** From now on there are no reports, for this reason. */
  withhold(why: string): void;
}

/** A source whose reports a test makes up. It passes on whatever it is given, an id that it had before included. */
export function createFakeReports(): FakeReports {
  const listeners = new Set<(report: ToolReport) => void>();
  let made = 0;
  let absent: string | null = null;
  return {
    report(given) {
      const report = sampleReport({ id: `report-${++made}`, ...given });
      for (const listener of [...listeners]) listener(report);
      return report;
    },
    withhold(why) {
      absent = why;
    },
    absence: () => absent,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {},
    async stop() {},
  };
}

/** A report that fits the schema. `prompt_sha256` follows from `prompt` unless it is given. */
export function sampleReport(given: Partial<ToolReport> = {}): ToolReport {
  const prompt = given.prompt ?? null;
  return {
    schema_version: 1,
    id: "report-0",
    tool: "claude",
    kind: "turn_ended",
    at_ms: Date.UTC(2026, 0, 1),
    session_id: "session-1",
    turn_id: null,
    prompt,
    prompt_sha256: prompt === null ? null : sha256(prompt),
    message: null,
    action: null,
    transcript_path: null,
    ...given,
  };
}
