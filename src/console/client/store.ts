import { batch, computed, effect, signal } from "@preact/signals";
import type { AttentionEvent } from "../../protocol/attention.ts";
import type { FleetEvent } from "../../protocol/coordinator.ts";
import {
  after,
  forgetDrafts,
  isVisible,
  nowMs,
  onRemembered,
  onVisibility,
  parseTime,
  pollWhileVisible,
  reloadPage,
  remember,
} from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { changesState, toRows } from "../state/agents.ts";
import { addEvents, type PastEvent } from "../state/history.ts";
import { emptyInbox, type Inbox, receive, waiting } from "../state/inbox.ts";
import { type Answer, call, pathOf, signedOutAnswers } from "./api.ts";
import { agents, lookAtAll, refreshAgents, wantAnswer, wantStates } from "./fleet.ts";
import { createLoader } from "./loader.ts";
import { streamedKinds } from "./operations.ts" with { type: "macro" };
import { followStream, type StreamState } from "./streams.ts";

/** What the console knows, as signals: components read them, this module alone writes them. */

export const inbox = signal<Inbox>(emptyInbox);
/** What happened at all agents since this page was opened. */
export const pastEvents = signal<readonly PastEvent[]>([]);
/** The present, coarse: relative times follow it. */
export const now = signal(nowMs());
/** Grows with each event of an agent: what shows the agent loads again. */
export const revisions = signal<ReadonlyMap<string, number>>(new Map());

type Connection = { kind: StreamState | "signed_out"; sinceMs: number };
export const connection = signal<Connection>({ kind: "connecting", sinceMs: nowMs() });
/** Whether this browser signed in by a link, and can sign out. */
export const hasSignedIn = signal(false);

export const waitingItems = computed(() => waiting(inbox.value));
export const rows = computed(() => toRows(agents.value.values(), waitingItems.value));

const kinds = streamedKinds();
/** Events are shown in steps: a burst of them is one drawing. */
const flushMs = 200;
const pending: { events: PastEvent[]; next: number; isSet: boolean } = { events: [], next: 1, isSet: false };

/** What waits at the agent of a gateway, which has no stream of it. */
const ownItems = createLoader({ concurrency: 1, gapMs: 300, load: loadOwnItems });

/**
 * Begins to follow the server, for as long as the page lives. Resolves once the first look at all agents is
 * over.
 */
export async function startStore(): Promise<void> {
  // The page that begins again asks to sign in, and shows nothing of before.
  effect(() => {
    if (signedOutAnswers.value > 0 && connection.peek().kind === "live") reloadPage();
  });
  onRemembered(signOutSetting, forgetPage);
  if (atGateway) followGateway();
  else await followCoordinator();
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
  pollWhileVisible(5_000, () => {
    now.value = nowMs();
  });

/** One agent: its events say when to ask again what waits. */
function followGateway(): void {
  let missedEvents = false;
  const refreshOwn = async () => {
    await refreshAgents();
    // Of an event that came before the agent was known nobody has asked what it changed.
    if (missedEvents) wantStates(...agents.value.keys());
    missedEvents = agents.value.size === 0;
  };
  followStream({
    address: (last) => pathOf("fleetEvents", {}, last === null ? {} : { after: last }),
    kinds: kinds.fleet,
    onEvent(data) {
      const [id = null] = agents.value.keys();
      missedEvents ||= id === null;
      const names = { agent_id: id, agent_name: null, tracked_agent_id: id };
      takeEvent({ ...names, ...(data as object) } as FleetEvent);
      ownItems.want("");
    },
    onState(state) {
      void setConnection(state);
      if (state !== "live") return;
      void refreshOwn();
      ownItems.want("");
    },
  });
  followClock();
  // What waits may begin without an event: a question that nobody could read in its first second.
  pollWhileVisible(5_000, () => ownItems.want(""));
}

async function loadOwnItems(): Promise<void> {
  const answer = await call("listAttention");
  if (!answer.ok) return;
  const { items } = answer.value;
  inbox.value = receive(inbox.value, { kind: "attention_list", items }, nowMs());
}

async function followCoordinator(): Promise<void> {
  followStream({
    address: () => pathOf("attentionEvents"),
    kinds: kinds.attention,
    onEvent: (event) => {
      inbox.value = receive(inbox.value, event as AttentionEvent, nowMs());
    },
    onState: setConnection,
  });
  followClock();
  // A browser gives one server six connections over all its tabs: a hidden tab keeps one.
  let endFleet: (() => void) | null = null;
  let first: ReturnType<typeof firstLook> | null = null;
  const followWhileVisible = () => {
    now.value = nowMs();
    if (isVisible() && endFleet === null) {
      const seen = first;
      first ??= firstLook();
      endFleet = seen === null ? followAfter(first) : followFleet(null);
    }
    if (!isVisible()) {
      endFleet?.();
      endFleet = null;
    }
  };
  followWhileVisible();
  onVisibility(followWhileVisible);
  await first;
}

/**
 * All agents and what waits. Returns the position of the events up to which they are known; null for none.
 */
async function firstLook(): Promise<string | null> {
  const look = await lookAtAll();
  // The stream brings the same as soon as it is open.
  if (look?.attention && inbox.value.shown === null)
    inbox.value = receive(inbox.value, { kind: "attention_list", items: look.attention }, nowMs());
  return look?.after ?? null;
}

/** What happens from the first look at all agents on. */
function followAfter(look: Promise<string | null>): () => void {
  let ended = false;
  let end = () => {};
  void look.then((position) => {
    if (!ended) end = followFleet(position);
  });
  return () => {
    ended = true;
    end();
  };
}

/**
 * `seenUntil`: position of the events up to which all agents are known; null where they are to be asked
 * first.
 */
function followFleet(seenUntil: string | null): () => void {
  let known = seenUntil !== null;
  return followStream({
    address: (last) => {
      const position = last ?? seenUntil;
      return pathOf("fleetEvents", {}, position === null ? {} : { after: position });
    },
    kinds: kinds.fleet,
    onEvent: (event) => takeEvent(event as FleetEvent),
    onState: (state) => {
      if (state !== "live") return;
      if (!known) void refreshAgents();
      known = false;
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
  if (changesState(event.kind)) wantStates(id);
  if (/^(?:completed|turn_finished|control_prompt_completed)$/.test(event.kind)) wantAnswer(id);
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
