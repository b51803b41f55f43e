import { signal } from "@preact/signals";
import type { AgentStateEntry, AgentStateList } from "../../protocol/agent-states.ts";
import type { AgentIdentity } from "../../protocol/agents.ts";
import { parseTime } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { type AgentView, idOf } from "../state/agents.ts";
import { lastLine } from "../state/format.ts";
import { type Answer, call } from "./api.ts";
import { createLoader } from "./loader.ts";
import { firstLook } from "./operations.ts" with { type: "macro" };

/** What the console knows of the agents, as signals: components read them, this module alone writes them. */

export const agents = signal<ReadonlyMap<string, AgentView>>(new Map());
/** False until the first list of agents came. */
export const agentsKnown = signal(false);

const states = createLoader({ concurrency: 2, gapMs: 700, maxIds: 60, load: loadStates });
/**
 * Of agents that the answer about all leaves out: those of other hosts, without a gateway, and slow to
 * answer.
 */
const singleStates = createLoader({ concurrency: 4, gapMs: 700, load: loadState });
const turnBegins = createLoader({ concurrency: 2, gapMs: 2_000, load: loadTurnBegin });
const answers = createLoader({ concurrency: 2, gapMs: 2_000, load: loadLastAnswer });
const mailboxes = createLoader({ concurrency: 2, gapMs: 10_000, load: loadUnread });

/** Asks again which agents there are, and what each does. */
export async function refreshAgents(): Promise<void> {
  const answer = await listIdentities();
  if (!answer.ok) return;
  const known = agents.value;
  agents.value = new Map(
    answer.value.map((identity) => [idOf(identity), { ...(known.get(idOf(identity)) ?? unseen), identity }]),
  );
  agentsKnown.value = true;
  wantStates(...[...agents.value].filter(([, { identity }]) => identity.has_gateway).map(([id]) => id));
}

const unseen = { state: null, failure: null, workingSinceMs: null, lastAnswer: null, unread: null };

/**
 * The look that the server began when it served the page: what it says beside the agents; null where none
 * came.
 */
export async function lookAtAll(): Promise<Pick<AgentStateList, "after" | "attention"> | null> {
  const answer = await call("listAgentStates", { query: firstLook() });
  // A tab that was hidden meanwhile has asked for a newer list.
  if (!answer.ok || agentsKnown.value) return null;
  takeStates(answer.value.agents, new Map());
  agentsKnown.value = true;
  return answer.value;
}

/** Asks again what these agents do, also those that had no gateway: they may have one now. */
export function wantStates(...ids: string[]): void {
  const isSingle = (id: string) => {
    const identity = agents.value.get(id)?.identity;
    return atGateway || !identity?.has_gateway || identity.host !== undefined;
  };
  states.want(...ids.filter((id) => !isSingle(id)));
  singleStates.want(...ids.filter(isSingle));
}

/** `known`: the agents beside those of the answer. */
function takeStates(entries: readonly AgentStateEntry[], known: ReadonlyMap<string, AgentView>): void {
  const views = new Map(known);
  for (const { identity, state, failure, turn_began_at_utc: began } of entries) {
    const before = agents.value.get(idOf(identity)) ?? unseen;
    const isActive = state?.turn.phase === "active";
    const workingSinceMs = isActive ? (before.workingSinceMs ?? parseTime(began)) : null;
    const seen = state === null ? { failure } : { state, failure: null, workingSinceMs };
    views.set(idOf(identity), { ...before, ...seen, identity });
    if (isActive && workingSinceMs === null) turnBegins.want(idOf(identity));
  }
  agents.value = views;
  const isLeftOut = ({ identity, state, failure }: AgentStateEntry) =>
    identity.has_gateway && state === null && failure === null;
  singleStates.want(...entries.filter(isLeftOut).map(({ identity }) => idOf(identity)));
}

async function loadStates(...ids: string[]): Promise<void> {
  const [only = ""] = ids;
  if (ids.length === 1) return loadState(only);
  const answer = await call("listAgentStates", { query: { agents: ids.join(",") } });
  if (answer.ok)
    takeStates(
      answer.value.agents.filter(({ identity }) => agents.value.has(idOf(identity))),
      agents.value,
    );
  else for (const id of ids) patch(id, { failure: answer.detail });
}

async function listIdentities(): Promise<Answer<AgentIdentity[]>> {
  if (atGateway) {
    const own = await call("agentState");
    return own.ok ? { ok: true, value: [own.value.identity] } : own;
  }
  const list = await call("listAgents");
  return list.ok ? { ok: true, value: list.value.agents } : list;
}

/** A turn has ended: its answer is there, and mail may be. */
export function wantAnswer(id: string): void {
  answers.want(id);
  if (agents.value.get(id)?.identity.has_mailbox) mailboxes.want(id);
}

/** Asks for what a tile shows beside the state, once it is visible. */
export function wantTile(id: string): void {
  const view = agents.value.get(id);
  if (!view?.identity.has_gateway) return;
  if (view.lastAnswer === null) answers.want(id);
  if (view.unread === null && view.identity.has_mailbox) mailboxes.want(id);
}

/** How often what shows unread mail asks for it: mail that wakes nobody is no event. */
export const unreadPollMs = 30_000;

/** Counts the unread mail of an agent again. */
export function reloadUnread(id: string): void {
  const identity = agents.value.get(id)?.identity;
  if (identity?.has_gateway && identity.has_mailbox) mailboxes.want(id);
}

async function loadState(id: string): Promise<void> {
  const params = { agent_ref: id };
  const answer = await call("agentState", { params });
  if (!answer.ok) {
    patch(id, { failure: answer.detail });
    return;
  }
  if (!agents.value.has(id)) return;
  const { identity } = answer.value;
  takeStates([{ identity, state: answer.value, failure: null, turn_began_at_utc: null }], agents.value);
}

async function loadTurnBegin(id: string): Promise<void> {
  const params = { agent_ref: id };
  const newest = await call("agentListGatewayRequests", { params, query: { limit: 5 } });
  if (!newest.ok) return;
  const began = newest.value.requests.flatMap(({ evidence }) =>
    evidence.some(({ step }) => step === "turn_ended")
      ? []
      : evidence.filter(({ step }) => step === "turn_started"),
  );
  if (agents.value.get(id)?.state?.turn.phase === "active")
    patch(id, { workingSinceMs: parseTime(began[0]?.at_utc) });
}

async function loadLastAnswer(id: string): Promise<void> {
  const page = await call("agentTranscript", {
    params: { agent_ref: id },
    query: { limit: 1, max_bytes: 4096 },
  });
  patch(id, { lastAnswer: page.ok ? lastLine(page.value.turns[0]?.answer ?? "") : "" });
}

async function loadUnread(id: string): Promise<void> {
  const body = { read_state: "unread" as const, limit: 1_000 };
  const list = await call("agentMailList", { params: { agent_ref: id }, body });
  patch(id, { unread: list.ok ? list.value.unread_count : 0 });
}

/** What a reader of the mailbox counted. */
export function setUnread(id: string, unread: number): void {
  if (agents.value.get(id)?.unread !== unread) patch(id, { unread });
}

function patch(id: string, change: Partial<AgentView>): void {
  const view = agents.value.get(id);
  if (view) agents.value = new Map(agents.value).set(id, { ...view, ...change });
}
