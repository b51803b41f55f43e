import { describe, expect, test } from "bun:test";
import { ageText, toSnapshotCells } from "../../../src/cli/agent/snapshot-text.ts";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import type { AgentSnapshot } from "../../../src/services/fleet/fleet-list.ts";

const nowMs = Date.parse("2026-01-01T00:10:00Z");
const record = {
  agent_name: "worker",
  agent_id: "w1",
  identity: { tool: "demo", backend: "local_interactive" },
  lifecycle: { state: "active" },
  terminal: {},
  runtime: { manifest_path: "/m" },
} as unknown as RegistryRecord;

function snapshot(change: Partial<AgentSnapshot> = {}, result = "success"): AgentSnapshot {
  const state = {
    availability: "available",
    turn: { phase: "ready" },
    last_turn: { result, updated_at_utc: "2026-01-01T00:07:59.000000+00:00" },
    gateway: { queue_depth: 2 },
  } as unknown as AgentSnapshot["state"];
  const rest = {
    gone: false,
    answered: true,
    turnSinceUtc: null,
    gatewayBaseUrl: "http://x",
    workingDirectory: "/project",
    queueDepth: 2,
    unreadMail: 3,
    problem: null,
    attention: null,
  };
  return { record, state, ...rest, ...change };
}

const who = ["worker", "w1", "demo"];
const dashes = ["-", "-", "-"];

describe("an agent at a snapshot", () => {
  test.each([
    {
      id: "tells state, availability, phase, queue, unread mail, last turn and gateway",
      given: snapshot(),
      want: ["active", "available", "ready", "2", "3", "success 2m", "http://x"],
    },
    {
      id: "counts unread mail no further than it was counted",
      given: snapshot({ unreadMail: 100 }),
      want: ["active", "available", "ready", "2", "100+", "success 2m", "http://x"],
    },
    {
      id: "without a mailbox and before the first turn says nothing of either",
      given: snapshot({ unreadMail: null }, "none"),
      want: ["active", "available", "ready", "2", "-", "-", "http://x"],
    },
    {
      id: "that did not answer is ? but for what its record says",
      given: snapshot({
        answered: false,
        state: null,
        unreadMail: null,
        gatewayBaseUrl: null,
        queueDepth: null,
        problem: { severity: "fault", detail: "no answer", remedy: null },
      }),
      want: ["active", "?", "?", "?", "?", "?", "no answer"],
    },
    {
      id: "whose session is no more is gone",
      given: snapshot({ gone: true, state: null, unreadMail: null, gatewayBaseUrl: null, queueDepth: null }),
      want: ["gone", "unavailable", "unknown", ...dashes, "-"],
    },
  ])("$id", ({ given, want }) => {
    expect(toSnapshotCells(given, nowMs, adviseInManager)).toEqual([...who, ...want]);
  });

  test.each([
    { ms: -5, want: "0s" },
    { ms: 59_999, want: "59s" },
    { ms: 60_000, want: "1m" },
    { ms: 3_600_000, want: "1h" },
    { ms: 86_400_000 * 3, want: "3d" },
  ])("a span of $ms ms is $want", ({ ms, want }) => {
    expect(ageText(ms)).toBe(want);
  });
});
