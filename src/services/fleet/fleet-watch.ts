import { FleetEvent } from "../../protocol/coordinator.ts";
import { coordinatorEndpoints, coordinatorStreams } from "../../protocol/coordinator-endpoints.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf, runStep } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop, type Loop } from "../../system/lifecycle.ts";
import type { Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import { isRunning } from "../sessions/find.ts";
import type { Environment } from "../sessions/roots.ts";
import {
  type CoordinatorPaths,
  type CoordinatorRecord,
  coordinatorClaim,
  runningCoordinators,
} from "./coordinator-files.ts";
import type { Directory, KnownAgent } from "./directory.ts";
import { createEventSource, openEventStream } from "./event-stream.ts";
import { createFleetEvents } from "./fleet-events.ts";
import type { Links } from "./links.ts";
import { baseUrlOf, proveListener, whyUnreachable } from "./listener-proof.ts";

/** What is known of one agent. */
interface Seen {
  record: RegistryRecord;
}

/** What is new about the agents that run. */
export interface FleetChange<Snapshot extends Seen> {
  /** All of them, by name. */
  snapshots: readonly Snapshot[];
  appeared: readonly Snapshot[];
  changed: readonly Snapshot[];
  /** As they were last seen. */
  gone: readonly Snapshot[];
}

interface FleetWatch extends Loop {
  /** Something may have happened at this agent. */
  hint(agentId: string): void;
}

const betweenLooksMs = 150;
const lookAtAllMs = 5000;
const lookForNewMs = 1000;

/**
 * Keeps one snapshot of each agent whose record says that it runs. Looks at an agent soon after a hint, at
 * new ones within a second and at all of them every 5 s, so that a hint that never came costs no more than
 * that. `onChange` gets only what differs; the first call comes also when there is no agent.
 */
export function createFleetWatch<Snapshot extends Seen>(deps: {
  directory: Pick<Directory, "agents">;
  /** A look at each of these, in their order. Never rejects. */
  look: (agents: readonly KnownAgent[]) => Promise<readonly Snapshot[]>;
  clock: Clock;
  onChange: (change: FleetChange<Snapshot>) => Promise<void>;
  onError: (error: unknown) => void;
}): FleetWatch {
  const { clock, directory } = deps;
  let state: WatchState<Snapshot> = nothingWatched;
  const hinted = new Set<string>();

  /** Due, look, report: `next` says what follows from each. */
  async function turn(signal: AbortSignal): Promise<number> {
    const known = await runStep("list of agents", directory.agents);
    const agents = known.filter(({ record }) => isRunning(record));
    const nowMs = clock.monotonicMs();
    const isDue = planLook(state, hinted, nowMs);
    hinted.clear();
    const found = await runStep("look at agents", () => deps.look(agents.filter(isDue)));
    const before = state;
    state = next(before, { kind: "looked", nowMs, agents, found });
    if (signal.aborted) return 0;
    const change = compareSnapshots(before.snapshots, state.snapshots);
    if (!state.isReported || isNews(change)) {
      await runStep("report of changed agents", () => deps.onChange(change));
    }
    state = next(state, { kind: "reported" });
    await sleep(clock, betweenLooksMs, signal);
    return lookForNewMs;
  }

  const loop = createLoop({ clock, turn, onError: deps.onError });
  return {
    ...loop,
    hint(agentId) {
      hinted.add(agentId);
      loop.wake();
    },
  };
}

/** What the watch has of the agents. */
export interface WatchState<Snapshot extends Seen> {
  /** By agent id. */
  snapshots: ReadonlyMap<string, Snapshot>;
  /** Of the last look at all agents, monotonic. */
  lookedAtAllMs: number;
  /** The first look was reported, also when it found no agent. */
  isReported: boolean;
}

type WatchEvent<Snapshot extends Seen> =
  /** `agents`: all that run. `found`: of those that were looked at. */
  | {
      kind: "looked";
      nowMs: number;
      agents: readonly Pick<KnownAgent, "record">[];
      found: readonly Snapshot[];
    }
  | { kind: "reported" };

export const nothingWatched: WatchState<never> = {
  snapshots: new Map<string, never>(),
  lookedAtAllMs: Number.NEGATIVE_INFINITY,
  isReported: false,
};

/** Pure. */
export function next<Snapshot extends Seen>(
  state: WatchState<Snapshot>,
  event: WatchEvent<Snapshot>,
): WatchState<Snapshot> {
  switch (event.kind) {
    case "looked": {
      const { agents, found, nowMs } = event;
      const previous = agents.flatMap(({ record }) => state.snapshots.get(record.agent_id) ?? []);
      return {
        ...state,
        snapshots: new Map([...previous, ...found].map((one) => [one.record.agent_id, one])),
        lookedAtAllMs: isEveryoneDue(state, nowMs) ? nowMs : state.lookedAtAllMs,
      };
    }
    case "reported":
      return { ...state, isReported: true };
  }
}

/** Which agents are looked at now. Pure. */
export function planLook<Snapshot extends Seen>(
  state: WatchState<Snapshot>,
  hinted: Iterable<string>,
  nowMs: number,
): (agent: Pick<KnownAgent, "record">) => boolean {
  const isEveryone = isEveryoneDue(state, nowMs);
  const hints = new Set(hinted);
  return ({ record }) =>
    isEveryone || hints.has(record.agent_id) || state.snapshots.get(record.agent_id)?.record !== record;
}

const isEveryoneDue = ({ lookedAtAllMs }: Pick<WatchState<never>, "lookedAtAllMs">, nowMs: number) =>
  nowMs - lookedAtAllMs >= lookAtAllMs;

type Snapshots<Snapshot> = ReadonlyMap<string, Snapshot>;

/** Pure. */
export function compareSnapshots<Snapshot extends Seen>(
  before: Snapshots<Snapshot>,
  now: Snapshots<Snapshot>,
): FleetChange<Snapshot> {
  const snapshots = [...now.values()].sort(byName);
  const previousOf = ({ record }: Snapshot) => before.get(record.agent_id);
  return {
    snapshots,
    appeared: snapshots.filter((one) => previousOf(one) === undefined),
    changed: snapshots.filter((one) => {
      const previous = previousOf(one);
      return previous !== undefined && factsOf(previous) !== factsOf(one);
    }),
    gone: [...before.values()].filter(({ record }) => !now.has(record.agent_id)),
  };
}

const isNews = ({ appeared, changed, gone }: FleetChange<Seen>) =>
  appeared.length + changed.length + gone.length > 0;

function factsOf(snapshot: Seen): string {
  return JSON.stringify(snapshot);
}

function byName(one: Seen, other: Seen): number {
  const [a, b] = [one, other].map(({ record }) => `${record.agent_name}\0${record.agent_id}`);
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

/** Where word comes from that something happened at an agent. */
interface FleetHints {
  /** The coordination server's address, or null for each gateway directly. */
  via: string | null;
  /** Ids of agents, until the stream ends or the caller stops reading. */
  agentIds: AsyncIterable<string>;
}

interface FleetHintsDeps {
  files: Files;
  clock: Clock;
  ids: Ids;
  processes: Pick<Processes, "alive" | "startToken">;
  network: Pick<Network, "fetch" | "listenerOwner">;
  env: Environment;
  runtimeRoot: string;
  directory: Directory;
  links: Links;
  /** As of `createFleetEvents`. */
  onError: (error: unknown) => void;
}

const connectMs = 2000;

/** One stream of all agents: of the coordination server that runs here, else of the gateways themselves. */
export async function openFleetHints(deps: FleetHintsDeps, signal: AbortSignal): Promise<FleetHints> {
  for (const { instance, paths } of runningCoordinators(deps)) {
    const claim = coordinatorClaim(instance);
    if (claim === null || (await proveListener(deps, claim, proofOf(deps, paths))) !== null) continue;
    const token = deps.env["SVC_COORD_TOKEN"] || deps.files.read(paths.token)?.trim() || null;
    const opened = await openEventStream({
      clock: deps.clock,
      signal,
      timeoutMs: connectMs,
      request: ({ headers, signal: ends }) =>
        deps.network.fetch(`${baseUrlOf(claim)}${coordinatorStreams.fleetEvents.path}`, {
          signal: ends,
          redirect: "error",
          headers: { ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
          // Bun would send even loopback through a proxy that the environment names.
          proxy: false,
        } as unknown as RequestInit),
      describe: messageOf,
    });
    if (opened.kind === "ok") return { via: instance.api_base_url, agentIds: idsIn(opened.body) };
  }
  return { via: null, agentIds: idsOfGateways(deps, signal) };
}

type AskDeps = Pick<FleetHintsDeps, "files" | "clock" | "processes" | "network">;

const proofOf = ({ files }: Pick<AskDeps, "files">, paths: CoordinatorPaths) => ({
  key: files.read(paths.challengeKey)?.trim() || null,
  timeoutMs: connectMs,
  respectProxyEnvironment: false,
});

/**
 * Why programs of ours cannot find or ask a coordination server by the files that it left for them, as a
 * clause; null where they can. Never rejects.
 */
export async function coordinatorFault(
  deps: AskDeps,
  { paths, instance }: { paths: CoordinatorPaths; instance: CoordinatorRecord | null },
): Promise<string | null> {
  const claim = instance && coordinatorClaim(instance);
  if (!claim) return `${paths.instance} is missing or damaged`;
  const why = await proveListener(deps, claim, proofOf(deps, paths));
  if (why !== null) return `${why} by ${paths.challengeKey}`;
  const token = deps.files.read(paths.token)?.trim() ?? "";
  const late = new AbortController();
  const cancel = deps.clock.after(connectMs, () => late.abort());
  try {
    const response = await deps.network.fetch(
      `${baseUrlOf(claim)}${coordinatorEndpoints.currentInstance.path}`,
      {
        signal: late.signal,
        redirect: "error",
        headers: isToken.test(token) ? { authorization: `Bearer ${token}` } : {},
        proxy: false,
      } as unknown as RequestInit,
    );
    await response.body?.cancel();
    return response.ok ? null : `it does not take the token in ${paths.token}`;
  } catch (error) {
    return whyUnreachable(error, baseUrlOf(claim));
  } finally {
    cancel();
  }
}

/** What a header can carry. */
const isToken = /^[\x21-\x7e]+$/;

async function* idsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const source = createEventSource(FleetEvent);
  try {
    for await (const bytes of body) {
      for (const { agent_id: id } of source.push(bytes)) if (id !== null) yield id;
    }
  } catch {
    // A stream that breaks has ended.
  }
}

async function* idsOfGateways(deps: FleetHintsDeps, signal: AbortSignal): AsyncGenerator<string> {
  const events = createFleetEvents(deps);
  try {
    for await (const item of events.follow({ after: null, signal })) {
      if (item.item === "event" && item.event.agent_id !== null) yield item.event.agent_id;
    }
  } finally {
    await events.stop();
  }
}
