import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import {
  createDiagnosticLog,
  type Diagnostic,
  type DiagnosticRun,
  diagnosticSettings,
  nextRuns,
  renderDiagnostic,
  safeFields,
  withWarnings,
} from "../../../src/services/diagnostics/diagnostic-log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const at = "2026-01-01T00:00:00.000+00:00";

describe("a diagnostic line", () => {
  test("has the common fields and its own, flat; a dedup_key from a warning on", () => {
    const fields = { method: "GET", status_code: 200 };
    expect(JSON.parse(renderDiagnostic({ level: "info", event: "gateway.x", fields }, at))).toEqual({
      schema_version: 1,
      timestamp_utc: at,
      level: "info",
      event: "gateway.x",
      ...fields,
    });
    expect(
      JSON.parse(renderDiagnostic({ level: "error", event: "gateway.x", fields, dedupKey: "k" }, at)),
    ).toMatchObject({
      dedup_key: "k",
    });
  });

  test("cannot be made to say another level, event or time by its fields", () => {
    const fields = { level: "info", event: "nothing", timestamp_utc: "never", schema_version: 9 };
    expect(JSON.parse(renderDiagnostic({ level: "error", event: "gateway.x", fields }, at))).toEqual({
      schema_version: 1,
      timestamp_utc: at,
      level: "error",
      event: "gateway.x",
      dedup_key: "gateway.x",
    });
  });

  test.each([
    "attachments",
    "authorization",
    "bearer",
    "body",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "credential_file",
    "env",
    "password",
    "prompt",
    "raw_text",
    "secret",
    "token",
    "Authorization",
    "next_prompt",
    "mail_body",
    "gateway_token",
    "api_secret",
    "db_password",
    "auth_bearer",
    "shared_tokens",
    "manifest_path",
    "home_dir",
    "session_root",
  ])("holds nothing under %s, at any depth", (name) => {
    expect(safeFields({ [name]: "x", kept: 1, inner: [{ [name]: "x", kept: 2 }] })).toEqual({
      kept: 1,
      inner: [{ kept: 2 }],
    });
  });

  test.each(["path", "prompt_length", "token_present", "environment", "bodyguard", "message_ref"])(
    "may hold %s",
    (name) => expect(safeFields({ [name]: 1 })).toEqual({ [name]: 1 }),
  );

  test("holds no long text and no deep structure", () => {
    const deep = { a: { b: { c: { d: 1 } } } };
    expect(safeFields({ text: "x".repeat(1000), deep })).toEqual({
      text: "x".repeat(300),
      deep: { a: { b: { c: undefined } } },
    });
  });
});

function setup(settings = { maxBytes: 100_000, backups: 2 }) {
  const scratch = createScratch();
  const clock = createFakeClock();
  const path = scratch.path("logs/diagnostics/gateway-diagnostic.log");
  const log = createDiagnosticLog({ files: scratch.files, clock, path, settings });
  const entries = () =>
    (existsSync(path) ? readFileSync(path, "utf8") : "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { scratch, clock, path, log, entries, [Symbol.dispose]: () => scratch[Symbol.dispose]() };
}

const told = (level: Diagnostic["level"], event: string, dedupKey?: string): Diagnostic => ({
  level,
  event,
  fields: {},
  ...(dedupKey === undefined ? {} : { dedupKey }),
});

describe("the diagnostic log", () => {
  test("reports the first of a run of failures and, when the run is over, how many followed and when", async () => {
    using one = setup();
    for (let round = 0; round < 4; round++) {
      one.log.record(told("warning", "gateway.a", "key a"));
      await one.clock.advance(1000);
    }
    one.log.record(told("error", "gateway.b"));
    expect(one.entries()).toEqual([
      { schema_version: 1, timestamp_utc: at, level: "warning", event: "gateway.a", dedup_key: "key a" },
      {
        schema_version: 1,
        timestamp_utc: "2026-01-01T00:00:04.000+00:00",
        level: "warning",
        event: "diagnostic.dedup_summary",
        dedup_key: "key a",
        first_event: "gateway.a",
        first_timestamp_utc: at,
        last_timestamp_utc: "2026-01-01T00:00:03.000+00:00",
        suppressed_count: 3,
      },
      {
        schema_version: 1,
        timestamp_utc: "2026-01-01T00:00:04.000+00:00",
        level: "error",
        event: "gateway.b",
        dedup_key: "gateway.b",
      },
    ]);
  });

  test("two failures that alternate, with info lines between them, are two runs", async () => {
    using one = setup();
    for (let round = 0; round < 5; round++) {
      one.log.record(told("info", "gateway.mailbox_operation_started"));
      one.log.record(told("warning", "gateway.mailbox_operation_failed", "list not_found"));
      one.log.record(told("warning", "gateway.http_request_completed", "POST list 404"));
      await one.clock.advance(1000);
    }
    one.log.record(told("error", "gateway.other"));
    const lines = one.entries().filter((entry) => entry["level"] !== "info");
    expect(lines.map((entry) => [entry["event"], entry["dedup_key"], entry["suppressed_count"]])).toEqual([
      ["gateway.mailbox_operation_failed", "list not_found", undefined],
      ["gateway.http_request_completed", "POST list 404", undefined],
      ["diagnostic.dedup_summary", "list not_found", 4],
      ["diagnostic.dedup_summary", "POST list 404", 4],
      ["gateway.other", "gateway.other", undefined],
    ]);
  });

  test("a failure that comes again after a quiet minute is written again, with a summary of those before", async () => {
    using one = setup();
    const fail = () => one.log.record(told("warning", "gateway.a"));
    for (const _ of [1, 2, 3]) fail();
    await one.clock.advance(61_000);
    one.log.record(told("info", "gateway.ok"));
    fail();
    expect(one.entries().map((entry) => [entry["event"], entry["suppressed_count"]])).toEqual([
      ["gateway.a", undefined],
      ["diagnostic.dedup_summary", 2],
      ["gateway.ok", undefined],
      ["gateway.a", undefined],
    ]);
  });

  test("a failure that goes on for hours is summarised while it goes on", async () => {
    using one = setup();
    for (let second = 0; second < 3600; second += 10) {
      one.log.record(told("warning", "gateway.a"));
      await one.clock.advance(10_000);
    }
    one.log.close();
    const summaries = one.entries().flatMap((entry) => (entry["suppressed_count"] as number) ?? []);
    const written = one.entries().filter((entry) => entry["event"] === "gateway.a").length;
    expect(summaries.length).toBeWithin(5, 8);
    expect(summaries.reduce((sum, count) => sum + count, 0) + written).toBe(360);
  });

  test("many kinds of failures do not pile up in memory", () => {
    let runs: DiagnosticRun[] = [];
    for (let kind = 0; kind < 1000; kind++) runs = nextRuns(runs, told("warning", `gateway.${kind}`), 0).runs;
    expect(runs.length).toBeLessThan(100);
  });

  test("an info line does not end a run", () => {
    using one = setup();
    for (let round = 0; round < 3; round++) {
      one.log.record(told("error", "gateway.a"));
      one.log.record(told("info", "gateway.ok"));
    }
    one.log.close();
    expect(one.entries().map((entry) => [entry["event"], entry["suppressed_count"]])).toEqual([
      ["gateway.a", undefined],
      ["gateway.ok", undefined],
      ["gateway.ok", undefined],
      ["gateway.ok", undefined],
      ["diagnostic.dedup_summary", 2],
    ]);
  });

  test("a failure that came once has no summary, and closing twice says nothing twice", () => {
    using one = setup();
    for (const key of ["a", "b", "b"]) one.log.record(told("warning", key));
    one.log.close();
    one.log.close();
    expect(one.entries().map((entry) => entry["event"])).toEqual(["a", "b", "diagnostic.dedup_summary"]);
  });

  test("is bounded: rotated with numeric suffixes before it would be larger", () => {
    using one = setup({ maxBytes: 400, backups: 2 });
    for (let index = 0; index < 50; index++) one.log.record(told("info", `gateway.event_${index}`));
    const folder = one.scratch.path("logs/diagnostics");
    const names = one.scratch.files.list(folder);
    expect(names).toEqual(["gateway-diagnostic.log", "gateway-diagnostic.log.1", "gateway-diagnostic.log.2"]);
    for (const name of names) expect(statSync(`${folder}/${name}`).size).toBeLessThanOrEqual(400);
  });

  test("a log that cannot be written throws at nobody", () => {
    using one = setup();
    writeFileSync(one.scratch.path("logs"), "in the way");
    expect(() => {
      one.log.record(told("error", "gateway.a"));
      one.log.close();
    }).not.toThrow();
  });

  const base = { schema_version: 1, desired_execution_mode: "detached_process" } as const;
  test("is off unless asked for, and has the contract's limits unless given others", () => {
    expect(diagnosticSettings(base)).toBeNull();
    expect(diagnosticSettings({ ...base, desired_diagnostic_logging: { max_bytes: 5 } })).toBeNull();
    expect(diagnosticSettings({ ...base, desired_diagnostic_logging: { enabled: true } })).toEqual({
      maxBytes: 1_048_576,
      backups: 5,
    });
    expect(
      diagnosticSettings({
        ...base,
        desired_diagnostic_logging: { enabled: true, max_bytes: 9, backup_count: 0 },
      }),
    ).toEqual({ maxBytes: 9, backups: 0 });
  });
});

test("a failure in the line log is a warning among the diagnostics, reported by its text and ids", () => {
  const lines: unknown[] = [];
  const recorded: Diagnostic[] = [];
  const log = withWarnings(
    { line: (text, fields) => void lines.push([text, fields]) },
    { record: (diagnostic) => void recorded.push(diagnostic), close: () => {} },
  );
  log.line("failed request", { request_id: "r", error: "Enter was not taken: hello" });
  log.line("completed request", { request_id: "r", error: undefined });
  expect(lines).toHaveLength(2);
  expect(recorded).toEqual([
    {
      level: "warning",
      event: "gateway.running_log_warning",
      dedupKey: "gateway.running_log_warning failed_request",
      fields: { message_code: "failed_request", request_id: "r" },
    },
  ]);
});
