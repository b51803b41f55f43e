import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { AgentState } from "../../../src/protocol/agents.ts";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { type AgentFacts, toAgentState } from "../../../src/services/fleet/projection.ts";
import { gatewayIdentity } from "../../../src/services/sessions/manifest.ts";
import { toOfflineStatus } from "../../../src/services/status/project.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

const manifest = sampleManifest();
const alone: AgentFacts = {
  record: sampleRecord(),
  manifest,
  manifestPath: "/s/manifest.json",
  sessionRoot: "/s",
  lifecycleState: "active",
  programPresent: true,
  status: null,
  terminal: null,
  diagnostics: [],
};

function terminal(
  availability: TerminalState["diagnostics"]["availability"],
  phase: "ready" | "active",
): TerminalState {
  return {
    terminal_id: "t",
    tracked_session: {
      tracked_session_id: "t",
      session_name: "s",
      tool: "demo",
      observed_tool_version: null,
      tmux_session_name: "s",
      tmux_window_name: null,
      terminal_aliases: [],
      agent_name: null,
      agent_id: null,
      manifest_path: null,
      session_root: null,
    },
    diagnostics: {
      availability,
      transport_state: "tmux_up",
      process_state: "tui_up",
      parse_status: "parsed",
      probe_error: null,
      parse_error: { kind: "parse", message: "cannot read", details: { row: "3" } },
    },
    probe_snapshot: null,
    parsed_surface: null,
    surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
    turn: { phase },
    last_turn: {
      result: "success",
      source: "explicit_input",
      updated_at_utc: "2026-11-21T04:47:00.000+00:00",
    },
    chat_context: "current",
    chat_context_diagnostic: null,
    stability: {
      signature: "x",
      stable: true,
      stable_for_seconds: 1,
      stable_since_utc: "2026-11-21T04:47:00.000+00:00",
    },
    recent_transitions: [],
  };
}

test("every projection fits its schema", () => {
  const status = {
    ...toOfflineStatus(
      gatewayIdentity(manifest),
      { instance: { epoch: 2, instanceId: null, reconciledEpoch: 2 }, depth: 0, block: null },
      null,
    ),
    gateway_host: "127.0.0.1",
    gateway_port: 1,
  };
  for (const facts of [alone, { ...alone, status, terminal: terminal("available", "active") }]) {
    expect([...Value.Errors(AgentState, toAgentState(facts))]).toEqual([]);
  }
});

describe("availability", () => {
  test.each([
    { id: "is the gateway's error", facts: { terminal: terminal("error", "ready") }, want: "error" },
    {
      id: "ends with the session",
      facts: { terminal: terminal("unavailable", "ready") },
      want: "unavailable",
    },
    { id: "ends with the program", facts: { terminal: terminal("tui_down", "ready") }, want: "unavailable" },
    {
      id: "outlives a tool we cannot read",
      facts: { terminal: terminal("unknown", "ready") },
      want: "available",
    },
    { id: "without a gateway is the program's presence", facts: {}, want: "available" },
    { id: "without a gateway and a program is none", facts: { programPresent: false }, want: "unavailable" },
  ] as { id: string; facts: Partial<AgentFacts>; want: AgentState["availability"] }[])(
    "$id",
    ({ facts, want }) => {
      expect(toAgentState({ ...alone, ...facts }).availability).toBe(want);
    },
  );
});

test("what nobody observed is unknown", () => {
  const state = toAgentState(alone);
  expect(state.turn).toEqual({ phase: "unknown", active_turn_id: null });
  expect(state.last_turn.result).toBe("unknown");
  expect(state.gateway).toBeNull();
  expect(state.identity).toMatchObject({
    has_gateway: false,
    tracked_agent_id: "id-worker",
    terminal_id: manifest.runtime.session_id,
  });
});

test("a version that the tool's profile was not proved on is a diagnostic", () => {
  const seen = terminal("available", "ready");
  const told = (tool_version_proved: boolean) => {
    const tracked_session = { ...seen.tracked_session, observed_tool_version: "9.9", tool_version_proved };
    const state = toAgentState({ ...alone, terminal: { ...seen, tracked_session } });
    return state.diagnostics.filter(({ kind }) => kind === "unproved_tool_version");
  };
  expect(told(true)).toEqual([]);
  expect(told(false)).toEqual([
    expect.objectContaining({ message: expect.stringContaining("9.9: its screens were not proved") }),
  ]);
});

describe("an agent that is not ready", () => {
  const still = (change: Partial<TerminalState>, seconds = 300): string[] => {
    const seen = terminal("available", "ready");
    const stability = { ...seen.stability, stable_for_seconds: seconds };
    const diagnostics = { ...seen.diagnostics, parse_error: null };
    const state = toAgentState({ ...alone, terminal: { ...seen, diagnostics, stability, ...change } });
    return state.diagnostics.filter(({ kind }) => kind === "stuck").map(({ message }) => message);
  };
  const { surface } = terminal("available", "ready");
  const draft: Partial<TerminalState> = { surface: { ...surface, editing_input: "yes" } };

  test("is stuck when nothing changed for minutes, with the fact that holds it", () => {
    expect(still(draft)).toEqual([
      "it takes no prompt and nothing has moved since 2026-11-21T04:47:00.000+00:00: editing_input=yes",
    ]);
    expect(still({ turn: { phase: "active" } })[0]).toEndWith(": turn.phase=active");
    expect(still({ surface: { ...surface, pending_input: "unknown" } })[0]).toEndWith(
      "pending_input=unknown",
    );
  });

  test("is stuck although a rule says that it works, when neither its screen nor its title moved", () => {
    const works: Partial<TerminalState> = {
      turn: { phase: "active" },
      active_reasons: ["title_busy"],
      surface: { ...surface, ready_posture: "no" },
    };
    const since = (screen_since_utc: string) => ({
      ...terminal("available", "active").stability,
      stable: false,
      stable_for_seconds: 2,
      screen_since_utc,
    });
    const stability = since("2026-11-21T04:42:00.000+00:00");
    expect(still({ ...works, stability })).toEqual([
      "it takes no prompt and nothing has moved since 2026-11-21T04:42:00.000+00:00: " +
        "turn.phase=active, ready_posture=no, active_reason=title_busy",
    ]);
    // Its timer moved a moment ago; what was read of it did not.
    const moved = { ...since("2026-11-21T05:01:59.000+00:00"), stable: true, stable_for_seconds: 900 };
    expect(still({ ...works, stability: moved })).toEqual([]);
    // A clock in its status line is no sign of a turn that only a report began.
    expect(still({ ...works, active_reasons: ["reported_turn"], stability: moved })[0]).toContain(
      "active_reason=reported_turn",
    );
  });

  test.each([
    { id: "a ready one", change: {}, seconds: 900 },
    { id: "one that changed a moment ago", change: draft, seconds: 299 },
    { id: "a busy one", change: { ...draft, active_reasons: ["status_row"] }, seconds: 900 },
    {
      id: "one that asks something",
      change: { ...draft, awaiting_decision: { kind: "selection_menu", question: "?", options: [] } },
      seconds: 900,
    },
    {
      id: "one with a usage limit",
      change: { ...draft, parked: { notice: "limit", until: null } },
      seconds: 900,
    },
  ] as { id: string; change: Partial<TerminalState>; seconds: number }[])(
    "is not: $id",
    ({ change, seconds }) => {
      expect(still(change, seconds)).toEqual([]);
    },
  );
});

test("a running turn of a terminal is named by its agent, and faults of reading are reported", () => {
  const state = toAgentState({ ...alone, terminal: terminal("available", "active") });
  expect(state.turn).toEqual({ phase: "active", active_turn_id: "tui-anchor:id-worker" });
  expect(state.diagnostics).toEqual([
    { kind: "parse_baseline_error", message: "cannot read", details: { row: "3" } },
  ]);
});

test("an identity says since when and until when its record holds", () => {
  const identity = (record: AgentFacts["record"]) => toAgentState({ ...alone, record }).identity;
  expect(identity(sampleRecord())).toMatchObject({
    published_at: "2001-09-09T01:46:40.000+00:00",
    lease_expires_at: expect.stringMatching(/^2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/),
  });
  expect(identity(null)).toMatchObject({ published_at: null, lease_expires_at: null });
});
