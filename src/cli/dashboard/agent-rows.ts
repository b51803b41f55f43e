import type { AttentionItem, AttentionKind } from "../../protocol/attention.ts";
import { type AgentCondition, conditionOf } from "../../protocol/condition.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { backendFacts } from "../../services/agent/backends.ts";
import { decideAttention } from "../../services/attention/decide.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { factsIn } from "../agent/attention-text.ts";
import { type LastTurn, problemText, unreadText } from "../agent/snapshot-text.ts";

/** One agent as the dashboard lists it. */
export interface AgentRow {
  id: string;
  name: string;
  tool: string;
  /** One word: what it does, or why it does nothing. */
  state: string;
  /** When that began; null where nobody saw it begin. */
  sinceMs: number | null;
  /** `?` where it is not known, `-` where there is none; so of mail. */
  queue: string;
  mail: string;
  /** How the last turn ended and when; null where that is not known. */
  lastTurn: LastTurn | null;
  /** What waits for a person at this agent, oldest first. */
  items: readonly AttentionItem[];
  /** What keeps it from working, where that is no item. */
  problem: string | null;
}

/** The phase that each agent was seen in, by id, and since when; null for the phase of the first look. */
export type SeenPhases = ReadonlyMap<string, { phase: string; sinceMs: number | null }>;

/** What the agents' phases are now, with the moments of the changes since `before`. Pure. */
export function followPhases(
  before: SeenPhases,
  snapshots: readonly AgentSnapshot[],
  nowMs: number,
): SeenPhases {
  return new Map(
    snapshots.map((snapshot) => {
      const { agent_id: id } = snapshot.record;
      const phase = wordCondition(snapshot, toCondition(snapshot, []));
      const last = before.get(id);
      if (last === undefined) return [id, { phase, sinceMs: null }];
      return [id, last.phase === phase ? last : { phase, sinceMs: nowMs }];
    }),
  );
}

/**
 * The rows of all agents: those that wait for a person first, the longest waiting one first of all; then by
 * name. `stopping`: ids of agents that the person is ending. `unowned`: what waits and is no agent's, such as
 * mail. Pure.
 */
export function toAgentRows(
  {
    advise,
    snapshots,
    mail,
    phases,
    stopping,
  }: {
    advise: Advise;
    snapshots: readonly AgentSnapshot[];
    mail: readonly PersonMail[];
    phases: SeenPhases;
    stopping: ReadonlySet<string>;
  },
  nowMs: number,
): { rows: AgentRow[]; unowned: AttentionItem[] } {
  const items = decideAttention(advise, factsIn(snapshots), nowMs, mail);
  const order = new Map<string, number>();
  for (const [index, { kind, agent_id: id }] of items.entries()) {
    if (kind !== "mail" && id !== null && !stopping.has(id) && !order.has(id)) order.set(id, index);
  }
  const rows = snapshots.map((snapshot) => {
    const id = snapshot.record.agent_id;
    if (stopping.has(id))
      return {
        ...toRow(snapshot, { advise, items: [], phases }),
        state: "stopping",
        sinceMs: null,
        problem: null,
      };
    const own = items.filter((item) => item.kind !== "mail" && item.agent_id === id);
    return toRow(snapshot, { advise, items: own, phases });
  });
  const rankOf = ({ id }: AgentRow) => order.get(id) ?? Number.POSITIVE_INFINITY;
  rows.sort((one, other) => {
    const [a, b] = [rankOf(one), rankOf(other)];
    if (a !== b) return a < b ? -1 : 1;
    return `${one.name}\0${one.id}` < `${other.name}\0${other.id}` ? -1 : 1;
  });
  return { rows, unowned: items.filter(({ kind }) => kind === "mail") };
}

/** Of what keeps an agent from its work; any other item lets it go on, and its phase is shown. */
const stateOfKind: Partial<Record<AttentionKind, string>> = {
  question: "asks",
  permission: "asks",
  usage_limit: "limit",
  draft: "draft",
  dead_agent: "dead",
  dead_gateway: "no gateway",
  stuck_agent: "stuck",
  closed_queue: "closed",
};

function toRow(
  snapshot: AgentSnapshot,
  { advise, items, phases }: { advise: Advise; items: readonly AttentionItem[]; phases: SeenPhases },
): AgentRow {
  const { record, answered, queueDepth, unreadMail, problem, state } = snapshot;
  const id = record.agent_id;
  const condition = toCondition(snapshot, items);
  const stopping = "item" in condition ? condition.item : null;
  const known = (text: string) => (answered ? text : "?");
  const since = stopping ? stopping.since_utc : snapshot.turnSinceUtc;
  const sinceMs = since === null ? null : parseTimestamp(since);
  return {
    id,
    name: record.agent_name,
    tool: record.identity.tool,
    items,
    state: wordCondition(snapshot, condition),
    sinceMs: sinceMs ?? (stopping ? null : (phases.get(id)?.sinceMs ?? null)),
    queue: known(queueDepth === null ? "-" : String(queueDepth)),
    mail: known(unreadText(unreadMail)),
    lastTurn: answered && state ? state.last_turn : null,
    problem: items.length > 0 || !problem ? null : problemText(problem, advise),
  };
}

function toCondition(snapshot: AgentSnapshot, items: readonly AttentionItem[]): AgentCondition {
  const { record, gone, state, gatewayBaseUrl } = snapshot;
  const identity = {
    lifecycle_state: record.lifecycle.state,
    liveness: gone ? "gone" : "alive",
    transport: backendFacts(record.identity.backend).headless ? "headless" : "tui",
    has_gateway: gatewayBaseUrl !== null,
  } as const;
  return conditionOf(
    identity,
    state,
    items.filter(({ kind }) => stateOfKind[kind] !== undefined),
  );
}

function wordCondition({ answered, state }: AgentSnapshot, condition: AgentCondition): string {
  if (!answered) return "?";
  const phase = state?.turn.phase ?? "unavailable";
  switch (condition.kind) {
    case "waits":
      return stateOfKind[condition.item?.kind ?? "question"] ?? phase;
    case "working":
      return "busy";
    case "broken":
      if (condition.cause === "item") return stateOfKind[condition.item.kind] ?? phase;
      if (condition.cause === "gone") return "gone";
      // What keeps a queue closed is an item.
      if (condition.cause === "queue_closed") return phase === "active" ? "busy" : phase;
      return "unavailable";
    default:
      return phase;
  }
}
