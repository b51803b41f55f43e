import { batch, computed, effect, signal } from "@preact/signals";
import type { AgentIdentity } from "../protocol/agents.ts";
import type { AttentionEvent } from "../protocol/attention.ts";
import type { FleetEvent } from "../protocol/coordinator.ts";
import { type Answer, call, pathOf, signedOutAnswers } from "./api.ts";
import {
  after,
  every,
  forgetDrafts,
  isVisible,
  nowMs,
  onRemembered,
  onVisibility,
  parseTime,
  reloadPage,
  remember,
} from "./browser.ts";
import { createLoader } from "./loader.ts";
import { streamedKinds } from "./operations.ts" with { type: "macro" };
import { type AgentView, changesState, idOf, toRows } from "./state/agents.ts";
import { lastLine } from "./state/format.ts";
import { addEvents, type PastEvent } from "./state/history.ts";
import { emptyInbox, type Inbox, receive, waiting } from "./state/inbox.ts";
import { followStream, type StreamState } from "./streams.ts";
import { atGateway } from "./surface.ts";

/** What the console knows, as signals: components read them, this module alone writes them. */

export const agents = signal<ReadonlyMap<string, AgentView>>(new Map());
/** False until the first list of agents came. */
export const agentsKnown = signal(false);
export const inbox = signal<Inbox>(emptyInbox);
/** What happened at all agents since this page was opened. */
export const pastEvents = signal<readonly PastEvent[]>([]);
/** The present, coarse: relative times follow it. */
export const now = signal(nowMs());
/** Grows with each event of an agent: what shows the agent loads again. */
export const revisions = signal<ReadonlyMap<string, number>>(new Map());

export type Connection = { kind: StreamState | "signed_out"; sinceMs: number };
export const connection = signal<Connection>({ kind: "connecting", sinceMs: nowMs() });
/** Whether this browser signed in by a link, and can sign out. */
export const hasSignedIn = signal(false);

export const waitingItems = computed(() => waiting(inbox.value));
export const rows = computed(() => toRows(agents.value.values(), waitingItems.value));

const kinds = streamedKinds();
/** Events are shown in steps: a burst of them is one drawing. */
const flushMs = 200;
const pending: { events: PastEvent[]; next: number; isSet: boolean } = { events: [], next: 1, isSet: false };

const states = createLoader({ concurrency: 4, gapMs: 700, load: loadState });
const answers = createLoader({ concurrency: 2, gapMs: 2_000, load: loadLastAnswer });
const mailboxes = createLoader({ concurrency: 2, gapMs: 10_000, load: loadUnread });
/** What waits at the agent of a gateway, which has no stream of it. */
const ownItems = createLoader({ concurrency: 1, gapMs: 300, load: loadOwnItems });

/** Begins to follow the server. Returns what ends it. */
export function startStore(): () => void {
  // The page that begins again asks to sign in, and shows nothing of before.
  const endSessionWatch = effect(() => {
    if (signedOutAnswers.value > 0 && connection.peek().kind === "live") reloadPage();
  });
  const endSignOut = onRemembered(signOutSetting, forgetPage);
  const endStreams = atGateway ? followGateway() : followCoordinator();
  return () => {
    endSessionWatch();
    endSignOut();
    endStreams();
  };
}

const signOutSetting = "signed-out";

/** Signs this browser out, in all of its tabs. */
export async function signOut(): Promise<Answer<unknown>> {
  const answer = await call("signOut");
  if (!answer.ok) return answer;
  remember(signOutSetting, String(nowMs()));
  forgetPage();
  return answer;
}

function forgetPage(): void {
  forgetDrafts();
  reloadPage();
}

const followClock = () =>
  every(5_000, () => {
    if (isVisible()) now.value = nowMs();
  });

/** One agent: its events say when to ask again what waits. */
function followGateway(): () => void {
  const endEvents = followStream({
    address: (last) => pathOf("fleetEvents", {}, last === null ? {} : { after: last }),
    kinds: kinds.fleet,
    onEvent(data) {
      const [id = null] = agents.value.keys();
      const names = { agent_id: id, agent_name: null, tracked_agent_id: id };
      takeEvent({ ...names, ...(data as object) } as FleetEvent);
      ownItems.want("");
    },
    onState(state) {
      void setConnection(state);
      if (state !== "live") return;
      void refreshAgents();
      ownItems.want("");
    },
  });
  const endClock = followClock();
  // What waits may begin without an event: a question that nobody could read in its first second.
  const endLooks = every(5_000, () => {
    if (isVisible()) ownItems.want("");
  });
  return () => {
    endEvents();
    endClock();
    endLooks();
  };
}

async function loadOwnItems(): Promise<void> {
  const answer = await call("listAttention");
  if (!answer.ok) return;
  const { items } = answer.value;
  inbox.value = receive(inbox.value, { kind: "attention_list", items }, nowMs());
}

function followCoordinator(): () => void {
  const endAttention = followStream({
    address: () => pathOf("attentionEvents"),
    kinds: kinds.attention,
    onEvent: (event) => {
      inbox.value = receive(inbox.value, event as AttentionEvent, nowMs());
    },
    onState: setConnection,
  });
  const endClock = followClock();
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
    address: (last) => pathOf("fleetEvents", {}, last === null ? {} : { after: last }),
    kinds: kinds.fleet,
    onEvent: (event) => takeEvent(event as FleetEvent),
    onState: (state) => {
      if (state === "live") void refreshAgents();
    },
  });
}

async function setConnection(kind: StreamState): Promise<void> {
  const before = connection.value.kind;
  if (kind !== before && (kind !== "lost" || before !== "signed_out"))
    connection.value = { kind, sinceMs: nowMs() };
  // Each loss may be another one: a server that starts again knows no browser that had signed in.
  if (kind === "connecting" || (kind === "live" && before === "live")) return;
  const session = await call("consoleSession");
  if (session.ok) hasSignedIn.value = session.value.signed_in === "cookie";
  else if (kind === "lost" && session.why === "signed_out")
    connection.value = { kind: "signed_out", sinceMs: nowMs() };
}

function takeEvent(event: FleetEvent): void {
  const atMs = parseTime(event.at_utc) ?? nowMs();
  const id = event.agent_id ?? event.tracked_agent_id;
  pending.events.push({ key: pending.next, atMs, agentId: id, event });
  pending.next += 1;
  if (!pending.isSet) {
    pending.isSet = true;
    after(flushMs, showEvents);
  }
  if (/^agent_(?:seen|changed|gone)$/.test(event.kind) || event.kind === "stream_gap") void refreshAgents();
  if (id === null || !agents.value.has(id)) return;
  if (changesState(event.kind)) states.want(id);
  if (/^(?:completed|turn_finished|control_prompt_completed)$/.test(event.kind)) {
    answers.want(id);
    if (agents.value.get(id)?.identity.has_mailbox) mailboxes.want(id);
  }
}

function showEvents(): void {
  const { events } = pending;
  pending.events = [];
  pending.isSet = false;
  const counts = new Map(revisions.value);
  for (const { agentId } of events) if (agentId !== null) counts.set(agentId, (counts.get(agentId) ?? 0) + 1);
  batch(() => {
    pastEvents.value = addEvents(pastEvents.value, events);
    revisions.value = counts;
  });
}

/**
 * Reads the whole log of one agent and follows it, in steps. Returns what ends it.
 */
export function followLog(id: string, onEvents: (events: PastEvent[]) => void): () => void {
  let events: PastEvent[] = [];
  let cancel: (() => void) | null = null;
  let key = 1;
  const flush = () => {
    cancel = null;
    onEvents(events);
    events = [];
  };
  const end = followStream({
    address: (last) => pathOf("agentGatewayEvents", { agent_ref: id }, { after: last ?? 0 }),
    kinds: kinds.fleet,
    onEvent: (data) => {
      const event = {
        agent_id: id,
        agent_name: null,
        tracked_agent_id: id,
        ...(data as object),
      } as FleetEvent;
      events.push({ key, atMs: parseTime(event.at_utc) ?? 0, agentId: id, event });
      key += 1;
      cancel ??= after(flushMs, flush);
    },
    onState: () => {},
  });
  return () => {
    cancel?.();
    end();
  };
}

/** Asks again which agents there are, and what each does. */
export async function refreshAgents(): Promise<void> {
  const answer = await listIdentities();
  if (!answer.ok) return;
  const known = agents.value;
  const entries = answer.value.map((identity): [string, AgentView] => {
    const before = known.get(idOf(identity));
    const fresh = { state: null, failure: null, workingSinceMs: null, lastAnswer: null, unread: null };
    return [idOf(identity), { ...(before ?? fresh), identity }];
  });
  agents.value = new Map(entries);
  agentsKnown.value = true;
  for (const [id, { identity }] of entries) if (identity.has_gateway) states.want(id);
}

async function listIdentities(): Promise<Answer<AgentIdentity[]>> {
  if (atGateway) {
    const own = await call("agentState");
    return own.ok ? { ok: true, value: [own.value.identity] } : own;
  }
  const list = await call("listAgents");
  return list.ok ? { ok: true, value: list.value.agents } : list;
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
  const newest = await call("agentListGatewayRequests", { params, query: { limit: 5 } });
  if (!newest.ok) return null;
  const began = newest.value.requests.flatMap(({ evidence }) =>
    evidence.some(({ step }) => step === "turn_ended")
      ? []
      : evidence.filter(({ step }) => step === "turn_started"),
  );
  return parseTime(began[0]?.at_utc);
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
