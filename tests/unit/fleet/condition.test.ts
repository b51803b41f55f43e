import { expect, test } from "bun:test";
import type { AttentionItem, AttentionKind } from "../../../src/protocol/attention.ts";
import { type AgentCondition, conditionOf } from "../../../src/protocol/condition.ts";

type Identity = Parameters<typeof conditionOf>[0];
type State = NonNullable<Parameters<typeof conditionOf>[1]>;

const runs: Identity = { lifecycle_state: "active", liveness: "alive", transport: "tui", has_gateway: true };
const ready = {
  availability: "available",
  turn: { phase: "ready", active_turn_id: null },
  gateway: { request_admission: "open", queue_depth: 0 },
} as State;
const active = { turn: { phase: "active" as const, active_turn_id: null } };
const gateway = (change: Partial<NonNullable<State["gateway"]>>) => ({
  gateway: { ...ready.gateway, ...change } as State["gateway"],
});
const asked = (opened_by?: "person") => ({
  awaiting_decision: {
    kind: "selection_menu",
    question: "Go on?",
    options: [],
    ...(opened_by ? { opened_by } : {}),
  } as NonNullable<State["awaiting_decision"]>,
});
const item = (kind: AttentionKind, question: string | null = null) =>
  ({ kind, question, reason: `a ${kind}` }) as AttentionItem;
const held = item("dead_gateway");
const limit = item("usage_limit");
const which = item("question", "Which one?");

test.each<{
  id: string;
  identity?: Partial<Identity>;
  state?: Partial<State> | null;
  items?: AttentionItem[];
  want: AgentCondition;
}>([
  { id: "nothing to do", want: { kind: "idle", isResting: false } },
  { id: "a turn runs", state: active, want: { kind: "working" } },
  {
    id: "a turn runs, and more waits",
    state: { ...active, ...gateway({ queue_depth: 2 }) },
    want: { kind: "working" },
  },
  { id: "work waits", state: gateway({ queue_depth: 2 }), want: { kind: "queued", depth: 2 } },
  {
    id: "a question, before a fault and the turn",
    state: active,
    items: [held, which],
    want: { kind: "waits", item: which, question: "Which one?" },
  },
  {
    id: "a limit, which asks nothing",
    items: [limit],
    want: { kind: "waits", item: limit, question: "a usage_limit" },
  },
  {
    id: "a question that is no item yet",
    state: asked(),
    want: { kind: "waits", item: null, question: "Go on?" },
  },
  {
    id: "a list that a person opened asks nobody",
    state: asked("person"),
    want: { kind: "idle", isResting: false },
  },
  {
    id: "a fault, before the turn",
    state: active,
    items: [held],
    want: { kind: "broken", cause: "item", item: held },
  },
  { id: "mail hinders nothing", items: [item("mail")], want: { kind: "idle", isResting: false } },
  {
    id: "it was stopped, whatever its session",
    identity: { lifecycle_state: "stopped", liveness: "gone" },
    state: null,
    want: { kind: "stopped", lifecycle: "stopped" },
  },
  { id: "its session is gone", identity: { liveness: "gone" }, want: { kind: "broken", cause: "gone" } },
  { id: "nobody asked it", state: null, want: { kind: "unknown", cause: "unseen" } },
  {
    id: "headless without a gateway: its queue is not closed",
    identity: { transport: "headless", has_gateway: false },
    state: gateway({ request_admission: "blocked_unavailable" }),
    want: { kind: "idle", isResting: true },
  },
  {
    id: "its program is not there",
    state: { availability: "unavailable" },
    want: { kind: "broken", cause: "unavailable" },
  },
  { id: "it cannot be read", state: { availability: "error" }, want: { kind: "broken", cause: "error" } },
  {
    id: "its queue is closed",
    state: { ...active, ...gateway({ request_admission: "blocked_reconciliation" }) },
    want: { kind: "broken", cause: "queue_closed" },
  },
  {
    id: "nothing is known of its queue",
    state: { gateway: null },
    want: { kind: "idle", isResting: false },
  },
  {
    id: "its screen says nothing",
    state: { turn: { phase: "unknown", active_turn_id: null } },
    want: { kind: "unknown", cause: "unread" },
  },
])("the condition of an agent: $id", ({ identity = {}, state = {}, items = [], want }) => {
  const given = state === null ? null : { ...ready, ...state };
  expect(conditionOf({ ...runs, ...identity }, given, items)).toEqual(want);
});
