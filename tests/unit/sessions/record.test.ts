import { describe, expect, test } from "bun:test";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import { isFresh, judgeRecord, parseRecord, toStopped } from "../../../src/services/sessions/record.ts";
import { sampleRecord } from "../../support/session-samples.ts";

const nowMs = Date.parse("2026-11-21T04:47:00Z");
const active = sampleRecord({}, nowMs);
const stopped = toStopped(active, "operator_stop", nowMs + 1000);
const expired: RegistryRecord = {
  ...active,
  liveness: { published_at: "2026-11-21T00:00:00Z", lease_expires_at: "2026-11-21T04:40:00Z" },
};

function parse(record: unknown, agentId = "id-worker") {
  return parseRecord(JSON.stringify(record), agentId);
}

test("a record we build is believed, running and stopped", () => {
  expect(parse(active)).toEqual({ ok: true, record: active });
  expect(parse(stopped)).toEqual({ ok: true, record: stopped });
});

test("a stopped record keeps where it was and drops what lived", () => {
  expect(stopped.lifecycle).toMatchObject({
    state: "stopped",
    stop_reason: "operator_stop",
    stopped_at: "2026-11-21T04:47:01.000+00:00",
  });
  expect(stopped.terminal).toEqual({ kind: "tmux", last_session_name: "SVC-worker-1" });
  expect(stopped).not.toHaveProperty("liveness");
  expect(stopped).not.toHaveProperty("gateway");
  expect(stopped.runtime).toEqual(active.runtime);
});

describe("a record that contradicts itself is not believed", () => {
  const gateway = { host: "127.0.0.1", port: 1, state_path: "/s", protocol_version: "v1" };
  test.each([
    { id: "running without a lease", record: { ...active, liveness: null }, want: "liveness" },
    { id: "running without a session", record: { ...active, terminal: stopped.terminal }, want: "session" },
    {
      id: "running and stopped",
      record: { ...active, lifecycle: { ...active.lifecycle, stopped_at: "2026-11-21T04:47:00Z" } },
      want: "stop time",
    },
    { id: "stopped with a lease", record: { ...stopped, liveness: active.liveness }, want: "liveness" },
    {
      id: "stopped in a session",
      record: { ...stopped, terminal: active.terminal },
      want: "current session",
    },
    { id: "stopped with a gateway", record: { ...stopped, gateway }, want: "gateway" },
    {
      id: "stopped at no time",
      record: { ...stopped, lifecycle: { ...stopped.lifecycle, stopped_at: null } },
      want: "stop time",
    },
    {
      id: "retired and relaunchable",
      record: { ...stopped, lifecycle: { ...stopped.lifecycle, state: "retired", relaunchable: true } },
      want: "relaunchable",
    },
    { id: "another version", record: { ...active, schema_version: 2 }, want: "schema_version" },
  ])("$id", ({ record, want }) => {
    const parsed = parse(record);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? "" : parsed.problem).toContain(want);
  });

  test("under the folder of another id", () => {
    expect(parse(active, "id-other")).toMatchObject({ ok: false });
  });

  test("not JSON at all", () => {
    expect(parseRecord("half a rec", "id-worker")).toEqual({ ok: false, problem: "not valid JSON" });
  });
});

test("fresh is published as running with a lease that has not ended", () => {
  expect(isFresh(active, nowMs)).toBe(true);
  expect(isFresh(active, nowMs + 50 * 365 * 24 * 3600 * 1000)).toBe(true);
  expect(isFresh(expired, nowMs)).toBe(false);
  expect(isFresh(stopped, nowMs)).toBe(false);
});

describe("what cleaning up keeps", () => {
  test.each([
    { id: "a running record whose session lives", record: active, sessionAlive: true, keep: true },
    { id: "not one whose session is gone", record: active, sessionAlive: false, keep: false },
    { id: "a stopped record, for relaunch", record: stopped, sessionAlive: false, keep: true },
    { id: "not one whose lease ended over 5 minutes ago", record: expired, sessionAlive: true, keep: false },
  ])("$id", ({ record, sessionAlive, keep }) => {
    expect(judgeRecord(record, { sessionAlive, nowMs }).keep).toBe(keep);
  });

  test("one whose lease ended just now, since clocks disagree", () => {
    const justExpired = { sessionAlive: true, nowMs: Date.parse("2026-11-21T04:44:00Z") };
    expect(judgeRecord(expired, justExpired).keep).toBe(true);
  });
});
