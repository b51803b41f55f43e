import type { HostMailCounts } from "../../../protocol/host-states.ts";
import { type HostAgentEntry, type HostRecord, maxEntryText } from "../../../protocol/hosts.ts";
import { type Clock, timestampNow } from "../../../system/clock.ts";
import { runStep } from "../../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../../system/lifecycle.ts";
import { maxAgentsOfHost, toRemoteIdentity } from "./host-directory.ts";
import type { HostDirectory } from "./host-link.ts";

/**
 * Where a host publishes what it has. Each method rejects when that did not succeed; it is then done again.
 */
export interface HostOutlet {
  record(record: HostRecord): Promise<void>;
  /** Null: the host has this agent no more. */
  agent(agentId: string, entry: HostAgentEntry | null): Promise<void>;
}

export interface Publisher extends Lifecycle {
  /** Everything is published again: what was published may be lost. */
  again(): void;
}

/** Changes are seen within this time. */
const pollIntervalMs = 300;
/** Entries at the outlet end by themselves; this is a third of their time. */
export const refreshIntervalMs = 6 * 3_600_000;
const atOnce = 64;

/** Publishes the record of a host once a heartbeat, and its agents when they change. */
export function createPublisher(deps: {
  clock: Clock;
  directory: HostDirectory;
  outlet: HostOutlet;
  host: string;
  instance: string;
  epoch: number;
  version: string;
  heartbeatMs: number;
  /** Of a host that carries mail; goes with its record. */
  mail?: () => HostMailCounts;
  /** Gets a fault once, until it is over. */
  onError: (error: unknown) => void;
}): Publisher {
  const { clock, outlet, epoch } = deps;
  let published = new Map<string, { text: string; atMs: number }>();
  let isBegun = false;

  const recordNow = (agents: number): HostRecord => ({
    schema_version: 1,
    host: deps.host,
    instance: deps.instance,
    epoch,
    version: deps.version,
    agents,
    heartbeat_ms: deps.heartbeatMs,
    ...(deps.mail ? { mail: deps.mail() } : {}),
    at_utc: timestampNow(clock),
  });

  async function put(entries: readonly [string, HostAgentEntry][]): Promise<void> {
    for (let at = 0; at < entries.length; at += atOnce) {
      const some = entries.slice(at, at + atOnce);
      await runStep("entries of agents", () =>
        Promise.all(some.map(([agentId, entry]) => outlet.agent(agentId, entry))),
      );
      for (const [agentId, entry] of some) {
        published.set(agentId, { text: JSON.stringify(entry), atMs: clock.monotonicMs() });
      }
    }
  }

  const agentsLoop = createLoop({
    clock,
    async turn() {
      const all = await runStep("list of agents", deps.directory.agents);
      const agents = all.slice(0, maxAgentsOfHost);
      const now = clock.monotonicMs();
      const entries = new Map<string, HostAgentEntry>();
      for (const { identity } of agents) {
        const id = identity.agent_id ?? identity.tracked_agent_id;
        const { host: _, ...shown } = toRemoteIdentity(identity, deps.host, null);
        // A person may give a window any name.
        const window = identity.tmux_window_name?.slice(0, maxEntryText).toWellFormed() ?? null;
        entries.set(id, {
          schema_version: 1,
          epoch,
          identity: { ...shown, agent_id: id, tmux_window_name: window },
        });
      }
      await put(
        [...entries].filter(([id, entry]) => {
          const before = published.get(id);
          return before?.text !== JSON.stringify(entry) || now - before.atMs > refreshIntervalMs;
        }),
      );
      for (const id of [...published.keys()]) {
        if (entries.has(id)) continue;
        await runStep(`end of ${id}`, () => outlet.agent(id, null));
        published.delete(id);
      }
      // Entries of this start first: with the record an operator drops those of earlier starts.
      if (!isBegun) heartbeat.start();
      isBegun = true;
      return pollIntervalMs;
    },
    onError: deps.onError,
  });
  const heartbeat = createLoop({
    clock,
    async turn() {
      const next = clock.monotonicMs() + deps.heartbeatMs;
      await runStep("record of this host", () => outlet.record(recordNow(published.size)));
      return Math.max(0, next - clock.monotonicMs());
    },
    onError: deps.onError,
  });

  return {
    start: () => agentsLoop.start(),
    again() {
      published = new Map();
      heartbeat.wake();
      agentsLoop.wake();
    },
    async stop() {
      await agentsLoop.stop();
      await heartbeat.stop();
    },
  };
}
