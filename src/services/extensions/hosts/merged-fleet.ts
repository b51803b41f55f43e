import { Value } from "@sinclair/typebox/value";
import type { AgentIdentity } from "../../../protocol/agents.ts";
import type { LifecycleState } from "../../../protocol/files.ts";
import type { CarrierState, HostList, HostState } from "../../../protocol/host-states.ts";
import { maxListed } from "../../../protocol/wire.ts";
import type { Clock } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { aliasesOf, chooseAgent, type Directory } from "../../fleet/directory.ts";
import type { PublishedHosts } from "./host-directory.ts";
import {
  type HostAgent,
  type HostLink,
  type HostRequest,
  maxWholeBytes,
  operationOf,
  readAtMost,
} from "./host-link.ts";

interface CallCounts {
  open: number;
  dropped: number;
  repeated: number;
  /** Entries of the directory that were refused. */
  unreadable: number;
}

/** The hosts that one carrier reaches. */
export interface RemoteHosts {
  directory: Pick<PublishedHosts, "hosts" | "has" | "agents" | "onChange">;
  linkTo(host: string): HostLink;
  counts(): CallCounts;
  /** The state of what carries the messages. `probe`: measured now. Never rejects. */
  carriers(options: { probe: boolean }): Promise<CarrierState[]>;
  stop(): Promise<void>;
}

/** An operation on an agent of another host that has ended, or whose answer has begun. */
export interface EndedOperation {
  /** `error`: refused, or nothing was sent; `not_known`: it may have been done. */
  result: "ok" | "error" | "not_known";
  seconds: number;
}

/** Where an operation on an agent goes. */
type AgentRoute =
  | { at: "here" }
  /** `ref`: how its host knows the agent; `hostAway`: since when nothing answers. */
  | { at: "host"; host: string; ref: string; link: HostLink; hostAwaySinceUtc: string | null };

/** The agents of this machine and of other hosts as one fleet. */
export interface MergedFleet {
  readonly localHost: string;
  /**
   * `ref`: any alias of an agent, alone or with `@<host>`. An alias that agents of several hosts have is
   * `ambiguous`, whatever runs: `agent_ids` in `data` has every candidate with its host. `not_found` for an
   * unknown host.
   */
  route(ref: string): Promise<AgentRoute>;
  /** Adds the agents of other hosts to our list. */
  list(own: AgentIdentity[], query: { state?: LifecycleState }): Promise<AgentIdentity[]>;
  /**
   * An operation on an agent of another host; ids in what comes back are qualified. Throws as
   * `HostLink.send`.
   */
  send(route: Extract<AgentRoute, { at: "host" }>, request: HostRequest): Promise<Response>;
  hosts(): HostState[];
  /** Hosts and carriers. `probe`: each live host is asked something now. Never rejects. */
  status(options: { probe: boolean }): Promise<Pick<HostList, "local_host" | "carriers" | "hosts">>;
  remotes: readonly RemoteHosts[];
  stop(): Promise<void>;
}

/**
 * Small answers whose identities are qualified; each is checked first, since it comes from another machine.
 */
const rewritten = new Set([
  "readAgent",
  "agentState",
  "agentStateDetail",
  "agentHistory",
  "submitAgentRequest",
  "stopAgent",
  "submitTurn",
  "readAgentTurn",
  "interruptAgent",
]);

export function createMergedFleet(deps: {
  clock: Clock;
  localHost: string;
  directory: Pick<Directory, "agents">;
  remotes: readonly RemoteHosts[];
  onOperation?: (ended: EndedOperation) => void;
}): MergedFleet {
  const { clock, localHost, directory, remotes } = deps;

  /**
   * A host that two carriers reach is that of the first: no host takes the name of one that was configured.
   */
  const carriers = (): Map<string, { carrier: RemoteHosts; state: HostState }> => {
    const found = new Map<string, { carrier: RemoteHosts; state: HostState }>();
    for (const carrier of remotes) {
      for (const state of carrier.directory.hosts()) {
        if (state.host !== localHost && !found.has(state.host)) found.set(state.host, { carrier, state });
      }
    }
    return found;
  };
  const states = (): HostState[] => [...carriers().values()].map(({ state }) => state);
  const carrierOf = (host: string) => remotes.find(({ directory: one }) => one.has(host)) ?? null;

  async function remoteAgents(wanted: { alias?: string } = {}): Promise<HostAgent[]> {
    const all = await Promise.all(
      remotes.map(async (carrier) =>
        (await carrier.directory.agents(wanted)).filter(
          ({ host }) => host !== localHost && carrierOf(host) === carrier,
        ),
      ),
    );
    return all.flat();
  }

  function toRoute({ host, identity }: HostAgent): AgentRoute {
    const carrier = carrierOf(host);
    if (!carrier) throw new ServiceError("unavailable", `host "${host}" is not known any more`);
    return {
      at: "host" as const,
      host,
      link: carrier.linkTo(host),
      ref: identity.agent_id ?? identity.tracked_agent_id,
      hostAwaySinceUtc: identity.host_away_since_utc ?? null,
    };
  }

  async function among(ref: string): Promise<AgentRoute> {
    const remote = await remoteAgents({ alias: ref });
    if (remote.length === 0) return { at: "here" };
    const here = directory.agents().filter(({ identity }) => aliasesOf(identity).includes(ref));
    const hosts = new Set(remote.map(({ host }) => host));
    const [only] = remote;
    if (only && here.length === 0 && hosts.size === 1) return toRoute(chooseAgent(remote, ref));
    const ids = [
      ...here.map(({ record }) => qualify(record.agent_id, localHost)),
      ...remote.map(({ host, identity }) => qualify(identity.agent_id ?? identity.tracked_agent_id, host)),
    ].sort();
    const names = [...(here.length > 0 ? [localHost] : []), ...hosts].sort().map((host) => `${ref}@${host}`);
    throw new ServiceError(
      "ambiguous",
      `agents on ${names.length} hosts are known as "${ref}": name one as ${names.join(" or ")}`,
      { data: { agent_ids: ids } },
    );
  }

  return {
    localHost,
    remotes,
    async route(given) {
      const ref = given.trim();
      const { name, host } = splitRef(ref);
      if (host === null) return among(ref);
      if (host === localHost) return { at: "here" };
      const agents = (await carrierOf(host)?.directory.agents({ host, alias: name })) ?? [];
      const found = agents.length === 0 ? null : chooseAgent(agents, name);
      if (found) return toRoute(found);
      const known = states().find((state) => state.host === host);
      if (known?.state === "away" && known.since_utc === null) {
        const why = known.detail ?? "no answer yet";
        throw new ServiceError("unavailable", `host "${host}" was not reached: ${why}; nothing was sent`);
      }
      throw new ServiceError(
        "not_found",
        known
          ? `host "${host}" has no agent "${name.slice(0, 200)}"`
          : `no host "${host.slice(0, 100)}" is known`,
      );
    },
    async list(own, { state }) {
      const remote = (await remoteAgents()).flatMap(({ host, identity }) =>
        state === undefined || identity.lifecycle_state === state ? [qualifyIdentity(identity, host)] : [],
      );
      return [...own, ...remote].sort(byTransportAndId).slice(0, maxListed);
    },
    async send({ host, link }, request) {
      const startMs = clock.monotonicMs();
      const ended = (result: EndedOperation["result"]) =>
        deps.onOperation?.({ result, seconds: (clock.monotonicMs() - startMs) / 1000 });
      try {
        const answer = await link.send(request);
        const whole = rewritten.has(request.operation)
          ? await qualifyAnswer(answer, request.operation, host)
          : answer;
        ended(whole.ok ? "ok" : "error");
        return whole;
      } catch (error) {
        const isUnknown = error instanceof ServiceError && error.reason === "outcome_unknown";
        ended(isUnknown ? "not_known" : "error");
        throw error;
      }
    },
    hosts: states,
    async status({ probe }) {
      const [all, hosts] = await Promise.all([
        Promise.all(remotes.map((one) => one.carriers({ probe }))),
        Promise.all([...carriers().values()].map((one) => (probe ? probed(clock, one) : one.state))),
      ]);
      return {
        local_host: localHost,
        carriers: all.flat(),
        hosts: hosts.sort((left, right) => (left.host < right.host ? -1 : 1)),
      };
    },
    async stop() {
      await Promise.all(remotes.map((one) => one.stop()));
    },
  };
}

/** Longer than a slow way takes, shorter than a caller waits. */
const probeMs = 3000;

/** Asks a live host for an agent that none is: its answer has passed all of the way, there and back. */
async function probed(
  clock: Clock,
  { carrier, state }: { carrier: RemoteHosts; state: HostState },
): Promise<HostState> {
  if (state.state === "away") return state;
  const late = new AbortController();
  const cancel = clock.after(probeMs, () => late.abort());
  const startMs = clock.monotonicMs();
  try {
    const answer = await carrier.linkTo(state.host).send({
      operation: "readAgent",
      params: { agent_ref: "-" },
      query: "",
      headers: {},
      body: null,
      signal: late.signal,
    });
    await readAtMost(answer, maxWholeBytes);
    return { ...state, detail: null, latency_ms: hundredths(clock.monotonicMs() - startMs) };
  } catch (error) {
    const why = late.signal.aborted ? `no answer within ${probeMs} ms` : messageOf(error);
    return { ...state, latency_ms: null, detail: why };
  } finally {
    cancel();
  }
}

/** Pure. */
function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

/** `worker@build-3` as its two parts; names of agents have no `@`. Pure. */
export function splitRef(ref: string): { name: string; host: string | null } {
  const at = ref.lastIndexOf("@");
  return at < 0 ? { name: ref, host: null } : { name: ref.slice(0, at), host: ref.slice(at + 1) };
}

/** Pure. */
function qualify(id: string, host: string): string {
  return `${id}@${host}`;
}

/** An identity as the operator shows it: two hosts may have agents of one name and one id. Pure. */
function qualifyIdentity(identity: AgentIdentity, host: string): AgentIdentity {
  const { agent_name: name, agent_id: id } = identity;
  return {
    ...identity,
    host,
    manifest_path: null,
    session_root: null,
    tracked_agent_id: qualify(identity.tracked_agent_id, host),
    agent_name: name === null ? null : qualify(name, host),
    agent_id: id === null ? null : qualify(id, host),
  };
}

/** Refusals and what is none of these answers come back as they are, but for what breaks the contract. */
async function qualifyAnswer(answer: Response, operation: string, host: string): Promise<Response> {
  const endpoint = operationOf(operation);
  if (answer.status !== endpoint.status) return answer;
  const broken = () =>
    new ServiceError("transport_failed", `host "${host}" sent an invalid answer to ${operation}`);
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(await readAtMost(answer, maxWholeBytes)));
  } catch (error) {
    const isOfLink = error instanceof ServiceError && error.reason !== "too_large";
    throw isOfLink ? error : broken();
  }
  if (!Value.Check(endpoint.response, body)) throw broken();
  return Response.json(qualifyBody(body as Record<string, unknown>, host), { status: answer.status });
}

function qualifyBody(body: Record<string, unknown>, host: string): unknown {
  if ("transport" in body && "backend" in body) return qualifyIdentity(body as AgentIdentity, host);
  const changed: Record<string, unknown> = { ...body };
  const { tracked_agent_id: id, identity, summary_state: summary } = body;
  if (typeof id === "string") changed["tracked_agent_id"] = qualify(id, host);
  if (identity) changed["identity"] = qualifyIdentity(identity as AgentIdentity, host);
  if (summary) changed["summary_state"] = qualifyBody(summary as Record<string, unknown>, host);
  return changed;
}

function byTransportAndId(left: AgentIdentity, right: AgentIdentity): number {
  const key = (one: AgentIdentity) => `${one.transport} ${one.tracked_agent_id}`;
  return key(left) < key(right) ? -1 : 1;
}
