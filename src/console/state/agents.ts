import type { AgentIdentity, AgentState } from "../../protocol/agents.ts";
import type { AttentionItem } from "../../protocol/attention.ts";
import { type AgentCondition, conditionOf } from "../../protocol/condition.ts";
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

/** What an agent does, in the words of the console, with a shape and a colour for each kind. */
export interface ConditionWords {
  kind: AgentCondition["kind"];
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
export function wordCondition(view: AgentView, items: readonly AttentionItem[] = []): ConditionWords {
  const { identity, state } = view;
  const condition = conditionOf(identity, state, items);
  const { kind } = condition;
  const why = state?.diagnostics[0]?.message ?? "";
  switch (kind) {
    case "waits":
      return { kind, word: "waits for you", detail: condition.question };
    case "broken":
      switch (condition.cause) {
        case "item":
          return { kind, word: words(condition.item.kind), detail: condition.item.reason };
        case "gone":
          return { kind, word: "gone", detail: "Its tmux session is not there." };
        case "unavailable":
        case "error":
          return { kind, word: condition.cause, detail: why };
        default:
          return { kind, word: "queue closed", detail: words(state?.gateway?.request_admission ?? "") };
      }
    case "working":
      return { kind, word: "working", detail: "" };
    case "queued":
      return { kind, word: "queued", detail: count(condition.depth, "request") };
    case "idle": {
      const last = state ? (lastTurns[state.last_turn.result] ?? "") : "";
      return { kind, word: "idle", detail: condition.isResting ? "Its next prompt starts it" : last };
    }
    case "unknown":
      if (condition.cause === "unread") return { kind, word: "unknown", detail: why };
      return {
        kind,
        word: identity.has_gateway ? "not known yet" : "no gateway",
        detail: view.failure ?? "",
      };
    case "stopped":
      return { kind, word: condition.lifecycle, detail: "" };
  }
}

/** One agent and its state, as lists show it. */
export interface AgentRow {
  id: string;
  name: string;
  view: AgentView;
  condition: ConditionWords;
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
      return { id, name: nameOf(view.identity), view, items, condition: wordCondition(view, items) };
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
