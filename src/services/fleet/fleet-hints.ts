import { FleetEvent } from "../../protocol/coordinator.ts";
import { coordinatorEndpoints, coordinatorStreams } from "../../protocol/coordinator-endpoints.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import type { Environment } from "../sessions/roots.ts";
import {
  type CoordinatorPaths,
  type CoordinatorRecord,
  coordinatorClaim,
  runningCoordinators,
} from "./coordinator-files.ts";
import type { Directory } from "./directory.ts";
import { createEventSource, openEventStream } from "./event-stream.ts";
import { createFleetEvents } from "./fleet-events.ts";
import type { Links } from "./links.ts";
import { baseUrlOf, proveListener, whyUnreachable } from "./listener-proof.ts";

/** Where word comes from that something happened at an agent. */
export interface FleetHints {
  /** The coordination server's address, or null for each gateway directly. */
  via: string | null;
  /** Ids of agents, until the stream ends or the caller stops reading. */
  agentIds: AsyncIterable<string>;
}

export interface FleetHintsDeps {
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
    const token = deps.env["SVC_COORD_TOKEN"] || deps.files.readOwn(paths.token)?.trim() || null;
    const opened = await openEventStream({
      ...{ clock: deps.clock, signal, timeoutMs: connectMs },
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
  key: files.readOwn(paths.challengeKey)?.trim() || null,
  timeoutMs: connectMs,
  respectProxyEnvironment: false,
});

/**
 * Why programs of ours cannot find or ask a coordination server by the files that it left for them, as a clause; null
 * where they can. Never rejects.
 */
export async function coordinatorFault(
  deps: AskDeps,
  { paths, instance }: { paths: CoordinatorPaths; instance: CoordinatorRecord | null },
): Promise<string | null> {
  const claim = instance && coordinatorClaim(instance);
  if (!claim) return `${paths.instance} is missing or damaged`;
  const why = await proveListener(deps, claim, proofOf(deps, paths));
  if (why !== null) return `${why} by ${paths.challengeKey}`;
  const token = deps.files.readOwn(paths.token)?.trim() ?? "";
  const late = new AbortController();
  const cancel = deps.clock.after(connectMs, () => late.abort());
  try {
    const reply = await deps.network.fetch(
      `${baseUrlOf(claim)}${coordinatorEndpoints.currentInstance.path}`,
      {
        signal: late.signal,
        redirect: "error",
        headers: isToken.test(token) ? { authorization: `Bearer ${token}` } : {},
        proxy: false,
      } as unknown as RequestInit,
    );
    await reply.body?.cancel();
    return reply.ok ? null : `it does not take the token in ${paths.token}`;
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
