import type { AgentIdentity, AgentState } from "../../protocol/agents.ts";
import type { AttentionItem, AttentionKind } from "../../protocol/attention.ts";
import { count, words } from "./format.ts";
import { matchScore } from "./match.ts";
import { type WallFilter, wholeWall } from "./route.ts";

/** What the console knows of one agent. */
export interface AgentView {
  identity: AgentIdentity;
  /** Null until it was asked, or while the agent cannot be asked. */
  state: AgentState | null;
  /** Why `state` is null or old, in the server's words. */
  failure: string | null;
  /** When the turn began that runs now; null where nobody recorded it. */
  workingSinceMs: number | null;
  /** The last line of its newest answer; null until it was asked. */
  lastAnswer: string | null;
  unread: number | null;
}

/** What an agent does, as the console shows it: by word, by shape and by colour. */
export interface AgentCondition {
  kind: "waits" | "broken" | "working" | "queued" | "idle" | "stopped" | "unknown";
  word: string;
  /** One sentence more; empty where the word says it all. */
  detail: string;
}

export const conditionOrder: readonly AgentCondition["kind"][] = [
  "waits",
  "broken",
  "working",
  "queued",
  "idle",
  "unknown",
  "stopped",
];

const asks: readonly AttentionKind[] = ["question", "permission", "usage_limit"];

export const idOf = (identity: AgentIdentity): string => identity.agent_id ?? identity.tracked_agent_id;
/** An agent of the server's own machine has no host that others could name. */
/** In the address too; no host has this name. */
export const ownHost = ".";
export const hostOf = (identity: AgentIdentity): string => identity.host ?? ownHost;
export const nameOf = (identity: AgentIdentity): string => identity.agent_name ?? identity.tracked_agent_id;

/** What a person wants to know of an agent that is idle again. */
const lastTurns: Partial<Record<AgentState["last_turn"]["result"], string>> = {
  known_failure: "Its last turn failed",
  interrupted: "Its last turn was interrupted",
};

/** What an agent does. `items`: what waits for a person at this agent. */
export function conditionOf(view: AgentView, items: readonly AttentionItem[] = []): AgentCondition {
  const { identity, state } = view;
  const question = items.find(({ kind }) => asks.includes(kind));
  if (question) return { kind: "waits", word: "waits for you", detail: question.question ?? question.reason };
  const asked = state?.awaiting_decision;
  if (asked && asked.opened_by === undefined)
    return { kind: "waits", word: "waits for you", detail: asked.question };
  // Mail waits for a person and hinders no agent.
  const fault = items.find(({ kind }) => !asks.includes(kind) && kind !== "mail");
  if (fault) return { kind: "broken", word: words(fault.kind), detail: fault.reason };
  if (identity.lifecycle_state === "stopped" || identity.lifecycle_state === "retired")
    return { kind: "stopped", word: identity.lifecycle_state, detail: "" };
  if (identity.liveness === "gone")
    return { kind: "broken", word: "gone", detail: "Its tmux session is not there." };
  if (state === null)
    return {
      kind: "unknown",
      word: identity.has_gateway ? "not known yet" : "no gateway",
      detail: view.failure ?? "",
    };
  if (identity.transport === "headless" && !identity.has_gateway)
    return { kind: "idle", word: "idle", detail: "Its next prompt starts it" };
  if (state.availability !== "available")
    return { kind: "broken", word: state.availability, detail: state.diagnostics[0]?.message ?? "" };
  if (state.gateway && state.gateway.request_admission !== "open")
    return { kind: "broken", word: "queue closed", detail: words(state.gateway.request_admission) };
  if (state.turn.phase === "active") return { kind: "working", word: "working", detail: "" };
  const depth = state.gateway?.queue_depth ?? 0;
  if (depth > 0) return { kind: "queued", word: "queued", detail: count(depth, "request") };
  if (state.turn.phase === "ready")
    return { kind: "idle", word: "idle", detail: lastTurns[state.last_turn.result] ?? "" };
  return { kind: "unknown", word: "unknown", detail: state.diagnostics[0]?.message ?? "" };
}

/** One agent and its state, as lists show it. */
export interface AgentRow {
  id: string;
  name: string;
  view: AgentView;
  condition: AgentCondition;
  /** The oldest time at which something began to wait; null where nothing does. */
  items: readonly AttentionItem[];
}

/** The agents that a filter leaves, those first that need a person, never by what moved last. */
export function toRows(
  agents: Iterable<AgentView>,
  waiting: readonly AttentionItem[],
  filter: WallFilter = wholeWall,
): AgentRow[] {
  const itemsOf = Map.groupBy(waiting, ({ agent_id }) => agent_id);
  return [...agents]
    .map((view): AgentRow => {
      const id = idOf(view.identity);
      const items = itemsOf.get(id) ?? [];
      return { id, name: nameOf(view.identity), view, items, condition: conditionOf(view, items) };
    })
    .filter(({ name, view, condition }) => {
      if (filter.tool !== "" && view.identity.tool !== filter.tool) return false;
      if (filter.host !== "" && hostOf(view.identity) !== filter.host) return false;
      if (filter.state !== "" && condition.kind !== filter.state) return false;
      return filter.text === "" || matchScore(filter.text, name) !== null;
    })
    .sort(byAttention);
}

function byAttention(a: AgentRow, b: AgentRow): number {
  const rank = (row: AgentRow) => conditionOrder.indexOf(row.condition.kind);
  return rank(a) - rank(b) || sinceOf(a) - sinceOf(b) || a.name.localeCompare(b.name);
}

/** Longest first: what waits or works since when. */
function sinceOf({ condition, view, items }: AgentRow): number {
  if (condition.kind === "working") return view.workingSinceMs ?? Number.MAX_SAFE_INTEGER;
  const oldest = items.map(({ since_utc }) => since_utc ?? "").sort()[0];
  return oldest ? Number(oldest.replace(/\D/g, "").slice(0, 14)) : Number.MAX_SAFE_INTEGER;
}

/**
 * Keeps the order of the rows on the screen while a person reads them: known rows stay where they are, new
 * ones follow in their order. `order`: ids as shown.
 */
export function keepOrder(rows: readonly AgentRow[], order: readonly string[]): AgentRow[] {
  const place = new Map(order.map((id, index) => [id, index]));
  return rows.toSorted((a, b) => (place.get(a.id) ?? order.length) - (place.get(b.id) ?? order.length));
}

/** Which events of a gateway's stream change what `AgentState` says. */
const changing =
  /^(?:accepted|request_waiting|executing|completed|failed|coalesced|control_prompt|terminal_state|instance_changed|reconciled|turn_finished|turn_usage|gateway_|agent_)/;
export const changesState = (kind: string): boolean => changing.test(kind);
