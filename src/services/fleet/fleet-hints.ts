import { FleetEvent } from "../../protocol/coordinator.ts";
import { coordinatorStreams } from "../../protocol/coordinator-endpoints.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import type { Environment } from "../sessions/roots.ts";
import { coordinatorClaim, runningCoordinators } from "./coordinator-files.ts";
import type { Directory } from "./directory.ts";
import { createEventSource, openEventStream } from "./event-stream.ts";
import { createFleetEvents } from "./fleet-events.ts";
import type { Links } from "./links.ts";
import { baseUrlOf, proveListener } from "./listener-proof.ts";

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
    if (claim === null) continue;
    const proof = {
      key: deps.files.readOwn(paths.challengeKey)?.trim() || null,
      timeoutMs: connectMs,
      respectProxyEnvironment: false,
    };
    if ((await proveListener(deps, claim, proof)) !== null) continue;
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
