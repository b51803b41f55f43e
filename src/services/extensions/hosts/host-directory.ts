import { Value } from "@sinclair/typebox/value";
import type { AgentIdentity } from "../../../protocol/agents.ts";
import type { HostState } from "../../../protocol/host-states.ts";
import { HostAgentEntry, HostRecord, maxDirectoryBytes, maxEntryBytes } from "../../../protocol/hosts.ts";
import { hostNamePattern } from "../../../protocol/wire.ts";
import { type Clock, parseTimestamp, timestampNow } from "../../../system/clock.ts";
import { aliasesOf } from "../../fleet/directory.ts";
import type { HostAgent, HostDirectory } from "./host-link.ts";

/** What the hosts of one carrier publish, kept by the operator. */
export interface PublishedHosts extends HostDirectory {
  /** Those of one host, or that are known as `alias`, are found without a copy of all others. */
  agents(wanted?: { host?: string; alias?: string }): Promise<readonly HostAgent[]>;
  has(host: string): boolean;
  /**
   * A host's record. `fresh`: it was published just now; one that was found says only that the host lived
   * then. What does not fit, or is of an earlier start of the host, is dropped.
   */
  record(host: string, value: unknown, options: { fresh: boolean }): void;
  /** The entry of an agent of this host; null when the host has it no more. */
  agent(host: string, agentId: string, value: unknown): void;
  /** The host said that it ends, or its way is lost: it is away at once. */
  away(host: string): void;
  /** The host is no part of the fleet any more. */
  forget(host: string): void;
  /** The process of the host that is alive now; null while it is away. */
  instanceOf(host: string): string | null;
  /** Called after each change. */
  onChange(listener: () => void): () => void;
  dropped(): number;
}

interface Known {
  record: HostRecord;
  /** Null: never seen alive by us. */
  heardMs: number | null;
  lastSeenUtc: string;
  returns: number;
  /** Of the last heartbeat that came to us: the host's clock less ours. */
  clockDifferenceMs: number | null;
  isLost: boolean;
  agents: HostEntries;
}

/** The agents of one host. */
interface HostEntries {
  byId: Map<string, HostAgentEntry>;
  /** Of all of them, as JSON. */
  size: number;
}

/** A host is away when this many heartbeats did not come. */
const missedHeartbeats = 3;
export const maxAgentsOfHost = 5000;
const maxHosts = 1000;
const hostName = new RegExp(hostNamePattern);
const agentIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/**
 * Liveness is counted on our monotonic clock from what came to us: no clock of another machine is believed.
 */
export function createPublishedHosts(deps: { clock: Clock; via: HostState["via"] }): PublishedHosts {
  const { clock } = deps;
  const known = new Map<string, Known>();
  /** Entries that came before their host's record. */
  const early = new Map<string, HostEntries>();
  const listeners = new Set<() => void>();
  let dropped = 0;

  const drop = () => {
    dropped += 1;
  };
  const changed = () => {
    for (const listener of [...listeners]) listener();
  };

  function isLive({ record, heardMs, isLost }: Known): boolean {
    if (isLost || heardMs === null) return false;
    return clock.monotonicMs() - heardMs <= record.heartbeat_ms * missedHeartbeats;
  }

  function agentsOf(host: string): HostEntries {
    const found = known.get(host)?.agents ?? early.get(host) ?? { byId: new Map(), size: 0 };
    if (!known.has(host)) early.set(host, found);
    return found;
  }

  return {
    record(host, value, { fresh }) {
      if (!hostName.test(host) || !Value.Check(HostRecord, value) || value.host !== host) return drop();
      if (sizeOf(value) > maxEntryBytes) return drop();
      const before = known.get(host);
      // A message of an earlier start, replayed or late. The same start has one instance.
      if (before && value.epoch < before.record.epoch) return drop();
      if (before && value.epoch === before.record.epoch && value.instance !== before.record.instance) {
        return drop();
      }
      if (!before && known.size >= maxHosts) return drop();
      const isBack =
        fresh &&
        before !== undefined &&
        before.heardMs !== null &&
        (!isLive(before) || before.record.instance !== value.instance);
      known.set(host, {
        record: value,
        returns: (before?.returns ?? 0) + (isBack ? 1 : 0),
        clockDifferenceMs: fresh
          ? clockDifference(value, clock.nowMs())
          : (before?.clockDifferenceMs ?? null),
        heardMs: fresh ? clock.monotonicMs() : (before?.heardMs ?? null),
        lastSeenUtc: fresh ? timestampNow(clock) : seenAt(value),
        isLost: fresh ? false : (before?.isLost ?? false),
        agents: before?.agents ?? agentsOf(host),
      });
      early.delete(host);
      changed();
    },
    agent(host, agentId, value) {
      if (!hostName.test(host) || !agentIdPattern.test(agentId)) return drop();
      const agents = agentsOf(host);
      const before = agents.byId.get(agentId);
      const sizeBefore = before ? sizeOf(before) : 0;
      if (value === null) {
        if (agents.byId.delete(agentId)) agents.size -= sizeBefore;
        return changed();
      }
      if (!Value.Check(HostAgentEntry, value) || value.identity.agent_id !== agentId) return drop();
      if (before && value.epoch < before.epoch) return drop();
      if (!before && agents.byId.size >= maxAgentsOfHost) return drop();
      const size = sizeOf(value);
      if (size > maxEntryBytes || agents.size - sizeBefore + size > maxDirectoryBytes) return drop();
      agents.byId.set(agentId, value);
      agents.size += size - sizeBefore;
      changed();
    },
    away(host) {
      const one = known.get(host);
      if (!one || one.isLost) return;
      one.isLost = true;
      changed();
    },
    forget(host) {
      early.delete(host);
      if (known.delete(host)) changed();
    },
    instanceOf(host) {
      const one = known.get(host);
      return one && isLive(one) ? one.record.instance : null;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    dropped: () => dropped,
    hosts: () =>
      [...known.values()]
        .map((one): HostState => {
          const live = isLive(one);
          return {
            host: one.record.host,
            via: deps.via,
            state: live ? "live" : "away",
            since_utc: live ? null : one.lastSeenUtc,
            agents: one.agents.byId.size,
            version: one.record.version,
            heartbeat_ms: one.record.heartbeat_ms,
            heartbeat_age_ms: one.heardMs === null ? null : Math.round(clock.monotonicMs() - one.heardMs),
            returns: one.returns,
            clock_difference_ms: one.clockDifferenceMs,
            ...(one.record.mail ? { mail: one.record.mail } : {}),
          };
        })
        .sort((left, right) => (left.host < right.host ? -1 : 1)),
    has: (host) => known.has(host),
    async agents({ host, alias } = {}) {
      const all: HostAgent[] = [];
      for (const one of host === undefined ? known.values() : listOf(known.get(host))) {
        const awaySince = isLive(one) ? null : one.lastSeenUtc;
        for (const { epoch, identity } of one.agents.byId.values()) {
          // What an earlier start published may be gone; a start publishes its agents before itself.
          if (epoch !== one.record.epoch) continue;
          if (alias !== undefined && !aliasesOf(identity).includes(alias)) continue;
          all.push({
            host: one.record.host,
            identity: toRemoteIdentity(identity, one.record.host, awaySince),
          });
        }
      }
      return all;
    },
  };
}

function sizeOf(entry: HostAgentEntry | HostRecord): number {
  return JSON.stringify(entry).length;
}

function listOf<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function clockDifference({ at_utc }: HostRecord, nowMs: number): number | null {
  const atMs = parseTimestamp(at_utc);
  return atMs === null ? null : Math.round(atMs - nowMs);
}

function seenAt({ at_utc }: HostRecord): string {
  return parseTimestamp(at_utc) === null ? "" : at_utc;
}

/**
 * What an operator shows of an agent of another host: no path, and nothing as live while the host is away.
 * Pure.
 */
export function toRemoteIdentity(
  identity: AgentIdentity,
  host: string,
  awaySinceUtc: string | null,
): AgentIdentity {
  const { host_away_since_utc: _, ...rest } = identity;
  const shown: AgentIdentity = { ...rest, manifest_path: null, session_root: null, host };
  if (awaySinceUtc === null) return shown;
  return { ...shown, has_gateway: false, liveness: "unknown", host_away_since_utc: awaySinceUtc };
}
