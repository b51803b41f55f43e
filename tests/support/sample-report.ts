import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { sha256 } from "../../src/system/digest.ts";

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
