import { describe, expect, test } from "bun:test";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import type { StoredRequest } from "../../../src/db/gateway/request-store.ts";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import type { GatewayStatus, RequestRecord } from "../../../src/protocol/gateway.ts";
import type { AwaitingDecision, TerminalState } from "../../../src/protocol/terminal.ts";
import type { RunningTurn } from "../../../src/services/agent/agent.ts";
import { decideAttention } from "../../../src/services/attention/decide.ts";
import { toAttentionFacts } from "../../../src/services/fleet/attention-facts.ts";
import { endOfTurn } from "../../../src/services/queue/request.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";

const seenMs = Date.UTC(2026, 10, 21, 12);
const asked: AwaitingDecision = {
  kind: "approval_dialog",
  question: "action required",
  options: [],
  since_utc: "2026-11-21T12:00:00.000+00:00",
};
const whole: AwaitingDecision = { ...asked, options: [{ index: 1, text: "Yes", selected: true }] };
const record = {
  agent_id: "id-worker",
  agent_name: "worker",
  generation_id: "life-1",
  lifecycle: { state: "active", relaunchable: true },
  terminal: { current_session_name: "SVC-worker-1" },
} as RegistryRecord;

function decisionAt(ageMs: number, decision: AwaitingDecision): AwaitingDecision | null {
  const status = { awaiting_decision: decision, queue_depth: 0 } as GatewayStatus;
  return toAttentionFacts({
    record,
    status,
    trackedId: "id-worker",
    session: "alive",
    terminal: null,
    gateway: { state: "live", why: "" },
    programPresent: true,
    requests: [],
    nowMs: seenMs + ageMs,
  }).decision;
}

test("a question waits for a person once its dialog can have been drawn", () => {
  const cut: AwaitingDecision = { ...whole, unread: "its options could not be read" };
  for (const unread of [asked, cut]) {
    expect([0, 999].map((ms) => decisionAt(ms, unread))).toEqual([null, null]);
    expect(decisionAt(1000, unread)).toEqual(unread);
  }
  expect(decisionAt(0, whole)).toEqual(whole);
  const { since_utc: _, ...ageless } = asked;
  expect(decisionAt(0, ageless)).toEqual(ageless);
});

const waiting = {
  reason: "not_ready",
  detail: "editing_input=yes",
  since_utc: "2026-11-21T11:59:59.000+00:00",
};
const typed = { editing_input: "yes" };

test.each<{ id: string; status: object; terminal: object; want: object | null }>([
  {
    id: "a prompt waits behind it",
    status: { waiting },
    terminal: { surface: typed },
    want: { sinceUtc: waiting.since_utc },
  },
  { id: "nothing waits", status: {}, terminal: { surface: typed }, want: null },
  {
    id: "no draft is there",
    status: { waiting },
    terminal: { surface: { editing_input: "no" } },
    want: null,
  },
  {
    id: "the turn runs anyway",
    status: { waiting },
    terminal: { surface: typed, turn: { phase: "active" } },
    want: null,
  },
  {
    id: "a question is before it",
    status: { waiting },
    terminal: { surface: typed, awaiting_decision: whole },
    want: null,
  },
])("a draft waits for a person at once, unless it is no cause: $id", ({ status, terminal, want }) => {
  const { state } = giveTerminal(createFakeAgent());
  const { draft } = toAttentionFacts({
    record,
    status: { queue_depth: 1, ...status } as GatewayStatus,
    trackedId: "id-worker",
    session: "alive",
    terminal: { ...state, ...terminal } as TerminalState,
    gateway: { state: "live", why: "" },
    programPresent: true,
    requests: [],
    nowMs: seenMs,
  });
  expect(draft).toEqual(want as typeof draft);
});

test.each([
  { session: "alive" as const, want: { sinceUtc: null } },
  { session: "unknown" as const, want: null },
])("a program that nobody found has ended, unless tmux did not answer: $session", ({ session, want }) => {
  const { programEnded } = toAttentionFacts({
    record,
    status: null,
    trackedId: "id-worker",
    session,
    terminal: null,
    gateway: { state: "none", why: "" },
    programPresent: false,
    requests: [],
    nowMs: seenMs,
  });
  expect(programEnded).toEqual(want);
});

describe("how a headless turn ended", () => {
  const atUtc = "2026-11-21T12:00:00.000+00:00";
  const stored = { requestId: "r1", kind: "submit_prompt" } as StoredRequest;
  const turn = { turnId: "t1", turnIndex: 1 } as RunningTurn;
  test.each([
    { status: "completed" as const, waits: [] },
    { status: "failed" as const, waits: ["exit code 1"] },
    { status: "interrupted" as const, waits: [] },
  ])("one that is $status leaves for a person: $waits", ({ status, waits }) => {
    const { to, result, errorDetail } = endOfTurn(stored, turn, { status, detail: "exit code 1" }, atUtc);
    const request = {
      request_id: "r1",
      request_kind: "submit_prompt",
      state: to,
      evidence: [],
      accepted_at_utc: atUtc,
      started_at_utc: atUtc,
      finished_at_utc: atUtc,
      error_detail: errorDetail ?? null,
      result_json: result ?? null,
    } as unknown as RequestRecord;
    const facts = toAttentionFacts({
      record,
      status: null,
      trackedId: "id-worker",
      session: "alive",
      terminal: null,
      gateway: { state: "live", why: "" },
      programPresent: true,
      requests: [request],
      nowMs: seenMs,
    });
    expect(facts.failed.map(({ detail }) => detail)).toEqual([...waits]);
    expect(decideAttention(adviseInManager, [facts], seenMs).map(({ kind }) => kind)).toEqual(
      Array.from(waits, () => "failed_request" as const),
    );
  });
});

test("a list that somebody opened at the terminal is no question for anybody", () => {
  expect(decisionAt(5000, { ...whole, kind: "selection_menu", opened_by: "person" })).toBeNull();
});
