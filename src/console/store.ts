import { batch, computed, signal } from "@preact/signals";
import type { AttentionEvent } from "../protocol/attention.ts";
import type { FleetEvent } from "../protocol/coordinator.ts";
import { call, pathOf } from "./api.ts";
import { every, isVisible, nowMs, onVisibility, parseTime } from "./browser.ts";
import { createLoader } from "./loader.ts";
import { streamedKinds } from "./operations.ts" with { type: "macro" };
import { type AgentView, changesState, idOf, toRows } from "./state/agents.ts";
import { lastLine } from "./state/format.ts";
import { addMoment, type Moment, toMoment } from "./state/history.ts";
import { emptyInbox, type Inbox, receive, waiting } from "./state/inbox.ts";
import { followStream, type StreamState } from "./streams.ts";

/** What the console knows, as signals: components read them, this module alone writes them. */

export const agents = signal<ReadonlyMap<string, AgentView>>(new Map());
/** False until the first list of agents came. */
export const agentsKnown = signal(false);
export const inbox = signal<Inbox>(emptyInbox);
export const moments = signal<readonly Moment[]>([]);
/** The same events as they came, for what is computed from them. */
export const pastEvents = signal<readonly { atMs: number; agentId: string | null; event: FleetEvent }[]>([]);
/** The present, coarse: relative times follow it. */
export const now = signal(nowMs());
/** Grows with each event of an agent: what shows the agent loads again. */
export const revisions = signal<ReadonlyMap<string, number>>(new Map());

export type Connection = { kind: StreamState | "signed_out"; sinceMs: number };
export const connection = signal<Connection>({ kind: "connecting", sinceMs: nowMs() });

export const waitingItems = computed(() => waiting(inbox.value));
export const rows = computed(() => toRows(agents.value.values(), waitingItems.value));

const kinds = streamedKinds();
const maxPastEvents = 5_000;
const counted = { moments: 0 };

const states = createLoader({ concurrency: 4, gapMs: 700, load: loadState });
const answers = createLoader({ concurrency: 2, gapMs: 2_000, load: loadLastAnswer });
const mailboxes = createLoader({ concurrency: 2, gapMs: 10_000, load: loadUnread });

/** Begins to follow the server. Returns what ends it. */
export function startStore(): () => void {
  const endAttention = followStream({
    address: () => pathOf("attentionEvents"),
    kinds: kinds.attention,
    onEvent: (event) => {
      inbox.value = receive(inbox.value, event as AttentionEvent, nowMs());
    },
    onState: setConnection,
  });
  const endClock = every(5_000, () => {
    if (isVisible()) now.value = nowMs();
  });
  // A browser gives one server six connections over all its tabs: a hidden tab keeps one.
  let endFleet: (() => void) | null = null;
  const followWhileVisible = () => {
    now.value = nowMs();
    if (isVisible() && endFleet === null) endFleet = followFleet();
    if (!isVisible()) {
      endFleet?.();
      endFleet = null;
    }
  };
  followWhileVisible();
  const endVisibility = onVisibility(followWhileVisible);
  return () => {
    endAttention();
    endClock();
    endVisibility();
    endFleet?.();
  };
}

function followFleet(): () => void {
  return followStream({
    address: (after) => pathOf("fleetEvents", {}, after === null ? {} : { after }),
    kinds: kinds.fleet,
    onEvent: (event) => takeEvent(event as FleetEvent),
    onState: (state) => {
      if (state === "live") void refreshAgents();
    },
  });
}

async function setConnection(kind: StreamState): Promise<void> {
  if (kind === connection.value.kind) return;
  if (kind !== "lost" || connection.value.kind === "live" || connection.value.kind === "connecting")
    connection.value = { kind, sinceMs: nowMs() };
  if (kind !== "lost") return;
  const health = await call("listAgents");
  if (!health.ok && health.why === "signed_out") connection.value = { kind: "signed_out", sinceMs: nowMs() };
}

function takeEvent(event: FleetEvent): void {
  const atMs = parseTime(event.at_utc) ?? nowMs();
  const id = event.agent_id ?? event.tracked_agent_id;
  batch(() => {
    moments.value = addMoment(moments.value, toMoment(event, atMs, counted.moments));
    pastEvents.value = [...pastEvents.value.slice(1 - maxPastEvents), { atMs, agentId: id, event }];
    counted.moments += 1;
    if (id !== null) revisions.value = new Map(revisions.value).set(id, (revisions.value.get(id) ?? 0) + 1);
  });
  if (/^agent_(?:seen|changed|gone)$/.test(event.kind) || event.kind === "stream_gap") void refreshAgents();
  if (id === null || !agents.value.has(id)) return;
  if (changesState(event.kind)) states.want(id);
  if (/^(?:completed|turn_finished|control_prompt_completed)$/.test(event.kind)) {
    answers.want(id);
    mailboxes.want(id);
  }
}

/** Asks again which agents there are, and what each does. */
export async function refreshAgents(): Promise<void> {
  const answer = await call("listAgents");
  if (!answer.ok) return;
  const known = agents.value;
  const entries = answer.value.agents.map((identity): [string, AgentView] => {
    const before = known.get(idOf(identity));
    const fresh = { state: null, failure: null, workingSinceMs: null, lastAnswer: null, unread: null };
    return [idOf(identity), { ...(before ?? fresh), identity }];
  });
  agents.value = new Map(entries);
  agentsKnown.value = true;
  for (const [id, { identity }] of entries) if (identity.has_gateway) states.want(id);
}

/** Asks for what a tile shows beside the state, once it is visible. */
export function wantTile(id: string): void {
  const view = agents.value.get(id);
  if (!view?.identity.has_gateway) return;
  if (view.lastAnswer === null) answers.want(id);
  if (view.unread === null && view.identity.has_mailbox) mailboxes.want(id);
}

export const reloadAgent = (id: string): void => states.want(id);

async function loadState(id: string): Promise<void> {
  const params = { agent_ref: id };
  const answer = await call("agentState", { params });
  if (!answer.ok) {
    patch(id, { failure: answer.detail });
    return;
  }
  const state = answer.value;
  const before = agents.value.get(id);
  let workingSinceMs = state.turn.phase === "active" ? (before?.workingSinceMs ?? null) : null;
  if (state.turn.phase === "active" && workingSinceMs === null) workingSinceMs = await turnBegin(params);
  patch(id, { state, identity: state.identity, failure: null, workingSinceMs });
}

async function turnBegin(params: { agent_ref: string }): Promise<number | null> {
  const running = await call("agentListGatewayRequests", { params, query: { state: "running", limit: 1 } });
  return running.ok ? parseTime(running.value.requests[0]?.started_at_utc) : null;
}

async function loadLastAnswer(id: string): Promise<void> {
  const page = await call("agentTranscript", {
    params: { agent_ref: id },
    query: { limit: 1, max_bytes: 4096 },
  });
  patch(id, { lastAnswer: page.ok ? lastLine(page.value.turns[0]?.answer ?? "") : "" });
}

async function loadUnread(id: string): Promise<void> {
  const body = { read_state: "unread" as const, limit: 100 };
  const list = await call("agentMailList", { params: { agent_ref: id }, body });
  patch(id, { unread: list.ok ? list.value.unread_count : 0 });
}

function patch(id: string, change: Partial<AgentView>): void {
  const view = agents.value.get(id);
  if (view) agents.value = new Map(agents.value).set(id, { ...view, ...change });
}
