import type { FleetEvent, FleetEventKind } from "../../protocol/coordinator.ts";
import type { EventKind } from "../../protocol/events.ts";
import { type Clock, timestampNow, withinTime } from "../../system/clock.ts";
import { createFaultReport } from "../../system/errors.ts";
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
  const origin = deps.ids.hex(4);
  const closed = new AbortController();
  const followers = new Map<string, Follower>();
  /**
   * By session root: position in its gateway's log; null for one that was there before us and had no event
   * yet.
   */
  const positions = new Map<string, number | null>();
  /** Agents whose `gateway_unfollowed` event was published. */
  const unfollowed = new Set<string>();
  const seen = new Map<string, { lifecycle: string; generation: string }>();
  const report = createFaultReport((_, error) => deps.onError(error));
  const kept: FleetEvent[] = [];
  const readers = new Set<() => void>();
  let lastSeq = 0;
  let first = true;
  let cancelLinger = () => {};

  function tell(
    agent: KnownAgent | null,
    kind: FleetEventKind | EventKind,
    fields: Record<string, unknown> = {},
  ): void {
    lastSeq += 1;
    kept.push({
      at_utc: timestampNow(clock),
      ...fields,
      kind,
      agent_id: agent?.record.agent_id ?? null,
      agent_name: agent?.record.agent_name ?? null,
      tracked_agent_id: agent?.identity.tracked_agent_id ?? null,
    });
    if (kept.length > maxKept) kept.splice(0, kept.length - maxKept);
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
        tell(agent, "gateway_connected");
      },
      onLost(why) {
        links.doubt(found);
        if (connected) tell(agent, "gateway_lost", { detail: why });
        connected = false;
      },
      onEvent(event) {
        positions.set(found.sessionRoot, event.seq);
        tell(agent, event.kind as EventKind, { ...event, gateway_seq: event.seq });
      },
    }).catch((error: unknown) => {
      report(id, error);
      // The next turn of the loop begins again.
      if (followers.get(id)?.abort === abort) followers.delete(id);
    });
    followers.set(id, { generation, abort, ended });
  }

  function beginIfRoom(agent: KnownAgent): void {
    const { agent_id: id } = agent.record;
    if (followers.size < maxFollowed) {
      unfollowed.delete(id);
      begin(agent);
    } else if (!unfollowed.has(id)) {
      unfollowed.add(id);
      tell(agent, "gateway_unfollowed", { detail: `${maxFollowed} gateways are followed already` });
    }
  }

  function end(id: string): void {
    followers.get(id)?.abort.abort();
    followers.delete(id);
  }

  /** Publishes what the registry says of an agent when it changes. */
  function note(agent: KnownAgent): void {
    const { agent_id: id, generation_id: generation, lifecycle } = agent.record;
    const before = seen.get(id);
    seen.set(id, { lifecycle: lifecycle.state, generation });
    if (!before && !first) tell(agent, "agent_seen", { lifecycle_state: lifecycle.state });
    if (before && (before.lifecycle !== lifecycle.state || before.generation !== generation)) {
      tell(agent, "agent_changed", { lifecycle_state: lifecycle.state });
    }
    // Of an agent that came while we looked everything is news, of an earlier one only what is to come.
    const root = agent.found?.sessionRoot;
    if (root !== undefined && !positions.has(root)) positions.set(root, first ? null : 0);
  }

  /** Positions of sessions that ended long ago go; one that went for a moment keeps its position. */
  function forget(agents: readonly KnownAgent[]): void {
    if (positions.size <= maxPositions) return;
    const roots = new Set(agents.map(({ found }) => found?.sessionRoot));
    for (const root of [...positions.keys()]) if (!roots.has(root)) positions.delete(root);
  }

  const loop = createLoop({
    clock,
    async turn() {
      const agents = directory.agents();
      const ids = new Set(agents.map(({ record }) => record.agent_id));
      for (const agent of agents) {
        note(agent);
        const { agent_id: id, generation_id: generation } = agent.record;
        const follower = followers.get(id);
        const served = agent.found !== null && links.claims(agent.found);
        if (follower && (!served || follower.generation !== generation)) end(id);
        if (served && !followers.has(id)) beginIfRoom(agent);
        else unfollowed.delete(id);
      }
      for (const id of [...seen.keys()].filter((one) => !ids.has(one))) {
        end(id);
        seen.delete(id);
        unfollowed.delete(id);
        report(id, null);
        tell(null, "agent_gone", { gone_agent_id: id });
      }
      forget(agents);
      first = false;
      return pollIntervalMs;
    },
    onError: deps.onError,
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

  /** The number of a position that is still kept, or null. */
  function seqOf(after: string): number | null {
    const match = new RegExp(`^${origin}-(\\d{1,15})$`).exec(after);
    const seq = match ? Number(match[1]) : -1;
    return seq >= lastSeq - kept.length && seq <= lastSeq ? seq : null;
  }

  const idOf = (seq: number) => `${origin}-${seq}`;

  function gap(reason: string): FleetEvent {
    const nobody = { agent_id: null, agent_name: null, tracked_agent_id: null };
    const why: Record<string, unknown> = { reason };
    return { kind: "stream_gap", at_utc: timestampNow(clock), ...nobody, ...why };
  }

  return {
    async *follow({ after, signal: callers }) {
      const signal = AbortSignal.any([callers, closed.signal]);
      let wake = () => {};
      // Read first: the loop, which begins with this reader, publishes at once.
      let at = after === null ? lastSeq : seqOf(after);
      const leave = enter(() => wake());
      try {
        if (at === null) {
          at = lastSeq;
          yield { item: "event", id: idOf(at), event: gap("the position is not kept any more") };
        }
        while (!signal.aborted) {
          if (at < lastSeq - kept.length) {
            at = lastSeq;
            yield { item: "event", id: idOf(at), event: gap("read too slowly") };
          }
          const event = kept[kept.length - (lastSeq - at)];
          if (event) {
            at += 1;
            yield { item: "event", id: idOf(at), event };
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
      if (first) for (const agent of directory.agents()) note(agent);
      first = false;
      return idOf(lastSeq);
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
