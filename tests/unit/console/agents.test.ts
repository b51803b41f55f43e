import { describe, expect, test } from "bun:test";
import {
  type AgentView,
  keepOrder,
  ownHost,
  toRows,
  wordCondition,
} from "../../../src/console/state/agents.ts";
import {
  addEvents,
  maxPastEvents,
  type PastEvent,
  type Span,
  toMoment,
  toSeries,
  toSpans,
  toSpent,
} from "../../../src/console/state/history.ts";
import { toLadder } from "../../../src/console/state/ladder.ts";
import { wholeWall } from "../../../src/console/state/route.ts";
import { toThreads } from "../../../src/console/state/threads.ts";
import type { AgentState } from "../../../src/protocol/agents.ts";
import type { AttentionItem } from "../../../src/protocol/attention.ts";
import type { FleetEvent } from "../../../src/protocol/coordinator.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";
import type { MailMessage } from "../../../src/protocol/mail.ts";

const identity = (name: string): AgentView["identity"] => ({
  tracked_agent_id: name,
  agent_id: name,
  agent_name: name,
  transport: "tui",
  tool: "demo",
  backend: "tmux",
  session_name: null,
  terminal_id: null,
  runtime_session_id: null,
  tmux_session_name: null,
  tmux_window_name: null,
  manifest_path: null,
  session_root: null,
  lifecycle_state: "active",
  generation_id: "g",
  has_gateway: true,
  has_mailbox: true,
  published_at: null,
  lease_expires_at: null,
});
const state = (name: string, change: Partial<AgentState> = {}): AgentState => ({
  tracked_agent_id: name,
  identity: identity(name),
  availability: "available",
  turn: { phase: "ready", active_turn_id: null },
  last_turn: { result: "none", turn_id: null, turn_index: null, updated_at_utc: null },
  diagnostics: [],
  mailbox: null,
  gateway: {
    gateway_health: "healthy",
    managed_agent_connectivity: "connected",
    managed_agent_recovery: "idle",
    request_admission: "open",
    active_execution: "idle",
    queue_depth: 0,
    gateway_host: null,
    gateway_port: null,
  },
  ...change,
});
const view = (name: string, change: Partial<AgentView> = {}): AgentView => ({
  identity: identity(name),
  state: state(name),
  failure: null,
  workingSinceMs: null,
  lastAnswer: null,
  unread: null,
  ...change,
});
const working = { turn: { phase: "active" as const, active_turn_id: null } };
const item = (agent: string, kind: AttentionItem["kind"]): AttentionItem => ({
  id: `i-${agent}`,
  kind,
  agent_id: agent,
  agent_name: agent,
  tracked_agent_id: agent,
  address: null,
  age_seconds: 1,
  epoch: 1,
  since_utc: "2026-11-23T10:00:00+00:00",
  reason: "why",
  question: null,
  subject: null,
  evidence: [],
  answers: [],
  next: "do",
  command: null,
});

describe("what an agent does", () => {
  const gateway = state("a").gateway;
  test.each<{ id: string; given: AgentView; items?: AttentionItem[]; want: string }>([
    { id: "idle", given: view("a"), want: "idle" },
    { id: "working", given: view("a", { state: state("a", working) }), want: "working" },
    {
      id: "a question is more than work",
      given: view("a", { state: state("a", working) }),
      items: [item("a", "question")],
      want: "waits",
    },
    { id: "a failure", given: view("a"), items: [item("a", "failed_request")], want: "broken" },
    { id: "mail from it hinders nothing", given: view("a"), items: [item("a", "mail")], want: "idle" },
    {
      id: "headless, before its first prompt",
      given: view("a", {
        identity: { ...identity("a"), transport: "headless", has_gateway: false },
        state: state("a", {
          gateway: gateway && { ...gateway, request_admission: "blocked_unavailable" },
        }),
      }),
      want: "idle",
    },
    {
      id: "unreachable",
      given: view("a", { state: state("a", { availability: "unavailable" }) }),
      want: "broken",
    },
    {
      id: "a closed queue",
      given: view("a", {
        state: state("a", {
          gateway: gateway && { ...gateway, request_admission: "blocked_reconciliation" },
        }),
      }),
      want: "broken",
    },
    {
      id: "queued",
      given: view("a", { state: state("a", { gateway: gateway && { ...gateway, queue_depth: 2 } }) }),
      want: "queued",
    },
    {
      id: "stopped",
      given: view("a", { identity: { ...identity("a"), lifecycle_state: "stopped" }, state: null }),
      want: "stopped",
    },
    { id: "gone", given: view("a", { identity: { ...identity("a"), liveness: "gone" } }), want: "broken" },
    { id: "not asked yet", given: view("a", { state: null }), want: "unknown" },
  ])("$id", ({ given, items, want }) => expect(wordCondition(given, items).kind).toBe(want as never));
});

test("an agent that is idle after a failure says so", () => {
  const failed: AgentState = {
    ...state("a"),
    last_turn: { ...state("a").last_turn, result: "known_failure" },
  };
  expect(wordCondition(view("a", { state: failed }))).toEqual({
    kind: "idle",
    word: "idle",
    detail: "Its last turn failed",
  });
});

describe("the order of the wall", () => {
  const agents = [
    view("idle"),
    view("short", { state: state("short", working), workingSinceMs: 900 }),
    view("long", { state: state("long", working), workingSinceMs: 100 }),
    view("asks"),
    view("fails"),
  ];
  const waiting = [item("asks", "question"), item("fails", "dead_agent")];
  const names = (rows: { name: string }[]) => rows.map(({ name }) => name);
  test("waits for a person, broken, working longest, idle", () =>
    expect(names(toRows(agents, waiting))).toEqual(["asks", "fails", "long", "short", "idle"]));
  test("by name, tool and state", () => {
    expect(names(toRows(agents, waiting, { ...wholeWall, text: "sho" }))).toEqual(["short"]);
    expect(names(toRows(agents, waiting, { ...wholeWall, tool: "claude" }))).toEqual([]);
    expect(names(toRows(agents, waiting, { ...wholeWall, tool: "demo", state: "working" }))).toEqual([
      "long",
      "short",
    ]);
  });
  test("by host: one without a name is of this machine", () => {
    const far = view("far", { identity: { ...identity("far"), host: "build-3" } });
    const on = (host: string) => names(toRows([...agents, far], [], { ...wholeWall, host })).sort();
    expect(on("build-3")).toEqual(["far"]);
    expect(on(ownHost)).toEqual(["asks", "fails", "idle", "long", "short"]);
  });
  test("what is on the screen stays where it is; new agents follow", () => {
    const shown = ["idle", "short", "asks"];
    expect(names(keepOrder(toRows(agents, waiting), shown))).toEqual([
      "idle",
      "short",
      "asks",
      "fails",
      "long",
    ]);
  });
});

describe("the ladder of a request", () => {
  const request = (change: Partial<RequestRecord>): RequestRecord => ({
    schema_version: 1,
    request_id: "r",
    request_kind: "submit_prompt",
    state: "accepted",
    accepted_at_utc: "t0",
    started_at_utc: null,
    finished_at_utc: null,
    managed_agent_instance_epoch: 1,
    error_detail: null,
    result_json: null,
    evidence: [],
    ...change,
  });
  const shape = (record: RequestRecord) => toLadder(record).map(({ status }) => status);
  const seen = (step: RequestRecord["evidence"][number]["step"]) => ({
    step,
    at_utc: "t1",
    proof: `saw ${step}`,
  });
  test("an accepted one waits for the typing, and says why", () => {
    const waiting = { reason: "turn_boundary", detail: "A turn runs.", since_utc: "t" };
    const ladder = toLadder(request({ waiting }));
    expect(ladder.map(({ status }) => status)).toEqual(["done", "next", "open", "open", "open"]);
    expect(ladder[1]?.proof).toBe("turn boundary: A turn runs.");
  });
  test("a failed one names its failure where it stopped", () => {
    const record = request({
      state: "failed",
      evidence: [seen("accepted"), seen("typed")],
      error_detail: "no echo",
    });
    expect(shape(record)).toEqual(["done", "done", "failed", "passed", "passed"]);
    expect(toLadder(record)[2]?.proof).toBe("no echo");
  });
  test("a completed one has each proof, and passes what nobody saw", () => {
    const record = request({
      state: "completed",
      evidence: [seen("typed"), seen("submitted"), seen("turn_started")],
    });
    expect(shape(record)).toEqual(["done", "done", "done", "done", "passed"]);
  });
  test("one whose turn was interrupted has no failure", () => {
    const record = request({
      state: "failed",
      error_detail: "signal SIGINT",
      result_json: { outcome: "interrupted" },
      evidence: [seen("typed"), seen("submitted"), seen("turn_ended")],
    });
    expect(shape(record)).toEqual(["done", "done", "done", "passed", "done"]);
  });
  test("of the newest one the turn may still run", () => {
    const evidence = [seen("typed"), seen("submitted"), seen("turn_started")];
    const record = request({ state: "completed", evidence });
    expect(toLadder(record, { turnRuns: true }).at(-1)).toMatchObject({ name: "ended", status: "next" });
  });
  test("an interrupt is accepted and carried out: nothing is typed for it", () => {
    const result_json = { outcome: "interrupted", detail: "the turn was stopped" };
    const record = request({ request_kind: "interrupt", state: "completed", result_json });
    expect(toLadder(record).map(({ name, status, proof }) => [name, status, proof])).toEqual([
      ["accepted", "done", "stored in the queue"],
      ["carried out", "done", "the turn was stopped"],
    ]);
  });
  test("a settlement after a dead gateway is one more step", () =>
    expect(toLadder(request({ state: "completed", evidence: [seen("settled")] })).at(-1)?.name).toBe(
      "settled",
    ));
});

describe("history", () => {
  const event = (kind: string, fields: Record<string, unknown> = {}): FleetEvent => ({
    kind,
    at_utc: "2026-11-23T10:00:00+00:00",
    agent_id: "a",
    agent_name: "a",
    tracked_agent_id: "a",
    ...fields,
  });
  const at = (atMs: number, kind: string, fields: Record<string, unknown> = {}) => ({
    key: atMs,
    atMs,
    agentId: "a",
    event: event(kind, fields),
  });

  test("events are in the order of time and bounded", () => {
    const past = (atMs: number): PastEvent => at(atMs, "accepted");
    expect(addEvents([past(1), past(3)], [past(2)]).map(({ atMs }) => atMs)).toEqual([1, 2, 3]);
    const full = Array.from({ length: maxPastEvents }, (_, index) => past(index));
    expect(addEvents(full, [past(maxPastEvents)])).toHaveLength(maxPastEvents);
  });
  test.each([
    { kind: "failed", fields: {}, tone: "broken" },
    { kind: "completed", fields: {}, tone: "done" },
    { kind: "accepted", fields: {}, tone: "plain" },
    {
      kind: "terminal_state",
      fields: { summary: "parsed_surface.business_state: idle -> awaiting_operator" },
      tone: "waits",
    },
  ])("$kind is $tone", ({ kind, fields, tone }) =>
    expect(toMoment(event(kind, fields)).tone).toBe(tone as never),
  );

  test("a transition of the terminal is worded, its other facts are not listed", () => {
    const summary =
      "turn.phase: ready -> active; chat_context: unknown -> current; parsed_surface.business_state: idle -> working";
    expect(toMoment(event("terminal_state", { summary })).text).toBe("terminal: a turn runs, working");
    expect(toMoment(event("terminal_state", { summary: "chat_context: unknown -> current" })).text).toBe(
      "terminal: changed",
    );
    const lost = "availability: available -> unknown; turn.phase: active -> unknown";
    expect(toMoment(event("terminal_state", { summary: lost })).text).toBe(
      "terminal: it does not say whether a turn runs, its screen is unknown",
    );
  });
  test("turns and waits follow from the transitions of the terminal", () => {
    const spans = toSpans([
      at(10, "terminal_state", { turn_phase: "active", summary: "turn.phase: ready -> active" }),
      at(20, "terminal_state", {
        turn_phase: "active",
        summary: "parsed_surface.business_state: working -> awaiting_operator",
      }),
      at(30, "terminal_state", {
        turn_phase: "active",
        summary: "parsed_surface.business_state: awaiting_operator -> working",
      }),
      at(40, "completed"),
    ]).get("a");
    expect(spans).toEqual([
      { fromMs: 10, toMs: 40, kind: "turn" },
      { fromMs: 20, toMs: 30, kind: "wait" },
    ]);
  });
  test("the chart counts the agents that work in each part of the period, and its tokens", () => {
    const spans: Span[][] = [
      [
        { fromMs: 0, toMs: 4, kind: "turn" },
        { fromMs: 5, toMs: 19, kind: "turn" },
      ],
      [{ fromMs: 10, toMs: null, kind: "turn" }],
    ];
    const spent = [
      { atMs: 10, tokens: 5 },
      { atMs: 12, tokens: 3 },
      { atMs: 40, tokens: 2 },
      { atMs: -10, tokens: 100 },
    ];
    const series = toSeries({ spans, spent }, { fromMs: 0, toMs: 40 }, 4);
    expect(series.turns).toEqual([1, 2, 1, 1]);
    expect(series.waits).toEqual([0, 0, 0, 0]);
    expect(series.tokens).toEqual([0, 8, 0, 2]);
  });
  test("a later count of a turn adds only what it has more", () => {
    const used = (atMs: number, turn: string, input: number, output: number) =>
      at(atMs, "turn_usage", { turn_id: turn, input_tokens: input, output_tokens: output });
    const events = [used(10, "t1", 100, 20), used(20, "t2", 900, 80), used(30, "t1", 110, 20)];
    expect(toSpent(events)).toEqual([
      { atMs: 10, tokens: 120 },
      { atMs: 20, tokens: 980 },
      { atMs: 30, tokens: 10 },
    ]);
    expect(toMoment(events[1]?.event as FleetEvent)).toMatchObject({
      text: "the turn used 980 tokens",
      detail: "900 tokens read, 80 written",
    });
  });
});

test("messages become threads, newest first, each message once", () => {
  const message = (ref: string, thread: string, at: string, unread = false): MailMessage => ({
    message_ref: ref,
    thread_ref: thread,
    created_at_utc: at,
    subject: `about ${thread}`,
    read: !unread,
    unread,
    answered: false,
    archived: false,
    box: "inbox",
    body_preview: "",
    body_text: null,
    to: [],
    cc: [],
    reply_to: [],
    sender: { address: `${ref}@svc.localhost`, display_name: null, principal_id: null },
    attachments: [],
    notify_block: null,
    notify_auth: null,
  });
  const threads = toThreads([
    message("c", "t2", "3", true),
    message("b", "t1", "2"),
    message("a", "t1", "1"),
    message("a", "t1", "1"),
  ]);
  expect(threads.map(({ id, unread, people, messages }) => [id, unread, people, messages.length])).toEqual([
    ["t2", 1, ["c"], 1],
    ["t1", 0, ["a", "b"], 2],
  ]);
});
