import type { FleetEvent, FleetEventKind } from "../../protocol/coordinator.ts";
import type { EventKind } from "../../protocol/events.ts";
import { type Clock, timestampNow, withinTime } from "../../system/clock.ts";
import { createFaultReport, stepError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop } from "../../system/lifecycle.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import { followEvents } from "./follow-events.ts";
import type { Links } from "./links.ts";

export interface FollowedFleet extends FleetEvents {
  /** The id of the newest event: after it comes what is still to come. */
  position(): string;
  /** How many gateways are followed now, each over a separate connection. */
  following(): number;
  stop(): Promise<void>;
}

const maxKept = 20_000;
const heartbeatMs = 15_000;
const pollIntervalMs = 1000;
/** For a reader that comes back soon. */
const lingerMs = 60_000;
/** Of sessions, before those that are known no more are forgotten. */
const maxPositions = 2000;
/** Each is one connection, and a process has 256. */
const maxFollowed = 160;

/** What the stream has published of each agent. */
export interface Roster {
  /** Of the first look nothing is news. */
  isFirst: boolean;
  /** By agent id. */
  agents: ReadonlyMap<string, Listing>;
}

interface Listing {
  lifecycle: string;
  generation: string;
  /** Its `gateway_unfollowed` event was published. */
  isUnfollowed: boolean;
}

/** An agent of the directory. `isServed`: a gateway claims its session. */
interface Sighting {
  agent: KnownAgent;
  isServed: boolean;
}

/** What a look at the directory asks for, in this order. */
export type RosterStep =
  | { step: "publish"; agent: KnownAgent | null; kind: FleetEventKind; fields: Record<string, unknown> }
  | { step: "follow"; agent: KnownAgent }
  | { step: "leave"; agentId: string }
  | { step: "forget"; agentId: string };

export const initialRoster: Roster = { isFirst: true, agents: new Map() };

/**
 * The roster after a look, and what follows from it. `followed`: the generation of each agent whose gateway
 * is followed. Pure.
 */
export function next(
  roster: Roster,
  look: { sightings: readonly Sighting[]; followed: ReadonlyMap<string, { generation: string }> },
): { roster: Roster; steps: RosterStep[] } {
  const steps: RosterStep[] = [];
  const followed = new Set(look.followed.keys());
  const agents = new Map<string, Listing>();
  for (const { agent, isServed } of look.sightings) {
    const { agent_id: id, generation_id: generation } = agent.record;
    steps.push(...newsOf(roster, agent));
    if (followed.has(id) && !(isServed && look.followed.get(id)?.generation === generation)) {
      steps.push({ step: "leave", agentId: id });
      followed.delete(id);
    }
    const isWaiting = isServed && !followed.has(id);
    const isUnfollowed = isWaiting && followed.size >= maxFollowed;
    if (isUnfollowed && !roster.agents.get(id)?.isUnfollowed) {
      const detail = `${maxFollowed} gateways are followed already`;
      steps.push({ step: "publish", agent, kind: "gateway_unfollowed", fields: { detail } });
    } else if (isWaiting && !isUnfollowed) {
      steps.push({ step: "follow", agent });
      followed.add(id);
    }
    agents.set(id, { ...toListing(agent), isUnfollowed });
  }
  for (const id of roster.agents.keys()) {
    if (agents.has(id)) continue;
    const fields = { gone_agent_id: id };
    steps.push({ step: "forget", agentId: id });
    steps.push({ step: "publish", agent: null, kind: "agent_gone", fields });
  }
  return { roster: { isFirst: false, agents }, steps };
}

/** What the registry says of an agent, when it changes. */
function newsOf({ isFirst, agents }: Roster, agent: KnownAgent): RosterStep[] {
  const previous = agents.get(agent.record.agent_id);
  const { lifecycle, generation } = toListing(agent);
  const isChanged = previous && (previous.lifecycle !== lifecycle || previous.generation !== generation);
  const kind = isChanged ? "agent_changed" : previous || isFirst ? null : "agent_seen";
  return kind === null ? [] : [{ step: "publish", agent, kind, fields: { lifecycle_state: lifecycle } }];
}

const toListing = ({ record }: KnownAgent): Listing => ({
  lifecycle: record.lifecycle.state,
  generation: record.generation_id,
  isUnfollowed: false,
});

interface Follower {
  generation: string;
  abort: AbortController;
  ended: Promise<void>;
}

/**
 * Follows every live gateway while somebody reads. Events are kept in the order of their arrival, each under
 * a position of this process, `<this process>-<number>`. The position in a gateway's log is kept beside it:
 * nothing is missed or repeated when a gateway or the last reader comes back.
 */
export function createFleetEvents(deps: {
  directory: Directory;
  links: Links;
  clock: Clock;
  ids: Ids;
  /** Gets a fault of the loop or of one follower once, until it is over. Both go on. */
  onError: (error: unknown) => void;
}): FollowedFleet {
  const { directory, links, clock } = deps;
  const closed = new AbortController();
  const kept = createKeptEvents(deps.ids.hex(4), clock);
  const followers = new Map<string, Follower>();
  /**
   * By session root: position in its gateway's log; null for one that was there before us and had no event
   * yet.
   */
  const positions = new Map<string, number | null>();
  const report = createFaultReport((_, error) => deps.onError(error));
  const readers = new Set<() => void>();
  let roster = initialRoster;
  let cancelLinger = () => {};

  function publish(
    agent: KnownAgent | null,
    kind: FleetEventKind | EventKind,
    fields: Record<string, unknown> = {},
  ): void {
    kept.add({
      at_utc: timestampNow(clock),
      ...fields,
      kind,
      agent_id: agent?.record.agent_id ?? null,
      agent_name: agent?.record.agent_name ?? null,
      tracked_agent_id: agent?.identity.tracked_agent_id ?? null,
    });
    for (const wake of [...readers]) wake();
  }

  function begin(agent: KnownAgent): void {
    const { agent_id: id, generation_id: generation } = agent.record;
    const found = openedAgent(agent);
    const abort = new AbortController();
    let connected = false;
    const ended = followEvents({
      clock,
      signal: abort.signal,
      afterSeq: positions.get(found.sessionRoot) ?? null,
      async link() {
        const link = await links.to(found);
        return link.state === "live"
          ? { state: "healthy", client: link.client }
          : { state: "absent", why: link.why };
      },
      onConnected() {
        connected = true;
        report(id, null);
        publish(agent, "gateway_connected");
      },
      onLost(why) {
        links.doubt(found);
        if (connected) publish(agent, "gateway_lost", { detail: why });
        connected = false;
      },
      onEvent(event) {
        positions.set(found.sessionRoot, event.seq);
        publish(agent, event.kind as EventKind, { ...event, gateway_seq: event.seq });
      },
    }).catch((error: unknown) => {
      report(id, stepError(`events of ${agent.record.agent_name}`, error));
      // The next turn of the loop begins again.
      if (followers.get(id)?.abort === abort) followers.delete(id);
    });
    followers.set(id, { generation, abort, ended });
  }

  function end(id: string): void {
    followers.get(id)?.abort.abort();
    followers.delete(id);
  }

  /** Everything of an agent that came while we looked is news, of an earlier one only what is to come. */
  function placeNew(agents: readonly KnownAgent[]): void {
    for (const { found } of agents) {
      if (found && !positions.has(found.sessionRoot)) {
        positions.set(found.sessionRoot, roster.isFirst ? null : 0);
      }
    }
  }

  /** Positions of sessions that ended long ago go; one that went for a moment keeps its position. */
  function forget(agents: readonly KnownAgent[]): void {
    if (positions.size <= maxPositions) return;
    const roots = new Set(agents.map(({ found }) => found?.sessionRoot));
    for (const root of [...positions.keys()]) if (!roots.has(root)) positions.delete(root);
  }

  function perform(step: RosterStep): void {
    switch (step.step) {
      case "publish":
        publish(step.agent, step.kind, step.fields);
        break;
      case "follow":
        begin(step.agent);
        break;
      case "leave":
        end(step.agentId);
        break;
      case "forget":
        end(step.agentId);
        report(step.agentId, null);
    }
  }

  const loop = createLoop({
    clock,
    async turn() {
      const agents = directory.agents();
      const sightings = agents.map((agent) => ({
        agent,
        isServed: agent.found !== null && links.claims(agent.found),
      }));
      placeNew(agents);
      const after = next(roster, { sightings, followed: followers });
      roster = after.roster;
      for (const step of after.steps) perform(step);
      forget(agents);
      return pollIntervalMs;
    },
    onError: (error) => deps.onError(stepError("look at agents", error)),
  });

  async function rest(): Promise<void> {
    await loop.stop();
    for (const id of [...followers.keys()]) end(id);
  }

  /** A reader may come while the loop still ends. */
  async function linger(): Promise<void> {
    await rest();
    if (readers.size > 0 && !closed.signal.aborted) loop.start();
  }

  function enter(wake: () => void): () => void {
    cancelLinger();
    readers.add(wake);
    loop.start();
    return () => {
      readers.delete(wake);
      if (readers.size === 0) cancelLinger = clock.after(lingerMs, () => void linger());
    };
  }

  return {
    async *follow({ after, signal: callers }) {
      const signal = AbortSignal.any([callers, closed.signal]);
      let wake = () => {};
      // Read first: the loop, which begins with this reader, publishes at once.
      let at = after === null ? kept.newest() : kept.seqOf(after);
      const leave = enter(() => wake());
      try {
        if (at === null) {
          at = kept.newest();
          yield kept.gap("the position is not kept any more");
        }
        while (!signal.aborted) {
          if (!kept.has(at)) {
            at = kept.newest();
            yield kept.gap("read too slowly");
          }
          const event = kept.after(at);
          if (event) {
            at += 1;
            yield event;
            continue;
          }
          const woken = new Promise<boolean>((resolve) => {
            wake = () => resolve(true);
          });
          const some = await withinTime(clock, heartbeatMs, woken, signal);
          if (!some && !signal.aborted) yield { item: "heartbeat" };
        }
      } finally {
        leave();
      }
    },
    position() {
      // What comes from now on is news, also while nobody follows yet.
      if (roster.isFirst) {
        const agents = directory.agents();
        placeNew(agents);
        roster = {
          isFirst: false,
          agents: new Map(agents.map((one) => [one.record.agent_id, toListing(one)])),
        };
      }
      return kept.position();
    },
    following: () => followers.size,
    async stop() {
      closed.abort();
      cancelLinger();
      const ends = [...followers.values()].map(({ ended }) => ended);
      await rest();
      await Promise.all(ends);
    },
  };
}

/** The newest events, each under the position `<origin>-<number>`. */
function createKeptEvents(origin: string, clock: Clock) {
  const events: FleetEvent[] = [];
  let newest = 0;
  const idOf = (seq: number) => `${origin}-${seq}`;
  const has = (seq: number) => seq >= newest - events.length && seq <= newest;

  return {
    add(event: FleetEvent): void {
      newest += 1;
      events.push(event);
      if (events.length > maxKept) events.splice(0, events.length - maxKept);
    },
    newest: () => newest,
    position: () => idOf(newest),
    /** Whether what comes after this number is still kept. */
    has,
    /** The number of a position after which everything is kept, or null. */
    seqOf(position: string): number | null {
      const match = new RegExp(`^${origin}-(\\d{1,15})$`).exec(position);
      const seq = match ? Number(match[1]) : -1;
      return has(seq) ? seq : null;
    },
    /** The event after a number that is kept; null when there is none yet. */
    after(seq: number): FleetStreamItem | null {
      const event = events[events.length - (newest - seq)];
      return event ? { item: "event", id: idOf(seq + 1), event } : null;
    },
    /** Takes the place of events that are not kept. */
    gap(reason: string): FleetStreamItem {
      const nobody = { agent_id: null, agent_name: null, tracked_agent_id: null };
      const why: Record<string, unknown> = { reason };
      const event: FleetEvent = { kind: "stream_gap", at_utc: timestampNow(clock), ...nobody, ...why };
      return { item: "event", id: idOf(newest), event };
    },
  };
}

export type FleetStreamItem = { item: "event"; id: string; event: FleetEvent } | { item: "heartbeat" };

/** What happens at all agents, in the order in which it came to us. */
export interface FleetEvents {
  /**
   * Everything after the event with the id `after` (null: only what is to come), and a heartbeat in each
   * silent span of 15 s, until `signal` aborts. A position that is no longer kept gives one `stream_gap`.
   * Reading slowly costs nothing but, in the end, a gap.
   */
  follow(options: { after: string | null; signal: AbortSignal }): AsyncGenerator<FleetStreamItem>;
}
