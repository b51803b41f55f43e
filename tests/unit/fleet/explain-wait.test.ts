import { expect, test } from "bun:test";
import { sentenceWithCommand } from "../../../src/cli/command-line/remedies.ts";
import { adviseInShort } from "../../../src/cli/command-line/short-remedies.ts";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { explainWait } from "../../../src/services/fleet/explain-wait.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const status = {
  request_admission: "open",
  managed_agent_connectivity: "connected",
  managed_agent_recovery: "idle",
  terminal_surface_eligibility: "not_ready",
  active_execution: "idle",
  queue_depth: 1,
} as GatewayStatus;
const since_utc = "2026-01-01T00:00:00.000+00:00";
const waiting = { reason: "not_ready", detail: "editing_input=yes", since_utc };
const decision = { kind: "selection_menu", question: "Go on?", options: [] };
const draft = {
  accepting_input: "yes",
  editing_input: "yes",
  ready_posture: "no",
  pending_input: "no",
} as const;

const empty: TerminalState = giveTerminal(createFakeAgent()).state;
const agent = { manifest: sampleManifest({ agentName: "t2" }), record: null };

test.each<{
  id: string;
  status?: Partial<GatewayStatus>;
  terminal?: Partial<TerminalState> | null;
  want: string;
}>([
  {
    id: "a draft",
    terminal: { surface: draft },
    want: "A draft of yours is in its composer: svc attach t2",
  },
  {
    id: "a draft beside a turn that runs",
    terminal: { surface: draft, turn: { phase: "active" } },
    want: "It works on a turn: svc log t2 -f",
  },
  {
    id: "a draft beside work without a phase",
    terminal: { surface: draft, active_reasons: ["spinner"] },
    want: "It works on a turn: svc log t2 -f",
  },
  {
    id: "a question before a draft",
    terminal: { surface: draft, awaiting_decision: decision },
    want: "It asks: Go on?: svc ok t2",
  },
  {
    id: "a question of an agent without a terminal",
    status: { awaiting_decision: decision },
    terminal: null,
    want: "It asks: Go on?: svc ok t2",
  },
  {
    id: "a list that a person opened",
    terminal: { awaiting_decision: { ...decision, opened_by: "person" } },
    want: "A list that somebody opened is on its screen: svc attach t2",
  },
  {
    id: "a usage limit",
    terminal: { parked: { notice: "limit", until: "2026-01-01T15:00:00.000+00:00" } },
    want: "It is held by a usage limit until 2026-01-01T15:00:00.000+00:00",
  },
  {
    id: "a person who types by hand",
    status: { typing_lease: { holder: "ann", since_utc, until_utc: since_utc } },
    want: '"ann" types into its terminal by hand',
  },
  {
    id: "a queue that a relaunch closed",
    status: {
      managed_agent_recovery: "reconciliation_required",
      request_admission: "blocked_reconciliation",
      admission_block: { reason: "reconciliation_required", detail: "a new instance" },
    },
    want: "It is a new instance and its queue is closed: svc fix t2",
  },
  {
    id: "a turn of a headless agent",
    status: { active_execution: "running" },
    terminal: null,
    want: "It works on a turn: svc log t2 -f",
  },
  {
    id: "input that the tool holds",
    terminal: { surface: { ...draft, editing_input: "no", pending_input: "yes" } },
    want: "Its program holds a prompt already, which it has not begun: svc screen t2",
  },
  {
    id: "a screen that says nothing",
    want: "Its screen does not show that it can take a prompt: svc screen t2",
  },
  {
    id: "nothing at all",
    status: { queue_depth: 0, terminal_surface_eligibility: "ready" },
    want: 'Nothing keeps it from a prompt: svc ask t2 "..."',
  },
  {
    id: "prompts that wait for something else",
    status: { queue_depth: 2, terminal_surface_eligibility: "ready", waiting },
    want: "2 prompts wait: editing_input=yes: svc queue t2",
  },
])("a person reads of $id", ({ status: changed = {}, terminal = {}, want }) => {
  const seen = {
    status: { ...status, ...changed },
    terminal: terminal === null ? null : { ...empty, ...terminal },
  };
  expect(sentenceWithCommand(explainWait(agent, seen), adviseInShort)).toBe(want);
});
