import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { openStoredSession, type StoredSession } from "../../services/fleet/stored-session.ts";
import { bodyOf, type CallOf, openMaybeLive, type Target, toCaller } from "../agent/target.ts";
import { warn } from "../command-line/narrate.ts";
import { loadStoredRoutes } from "../extensions.ts";

/** An agent whose past can be read. */
export interface ReadableAgent extends Target {
  /** Of its gateway, or of its files: these answer reads only. */
  client: GatewayCalls;
  /** Null while a gateway serves it. */
  stored: StoredSession | null;
}

/**
 * The agent with the calls that its gateway or, where none serves it, its files answer. Says on standard error
 * that they are. Source: ruling 42.
 */
export async function openReadable(call: CallOf): Promise<ReadableAgent> {
  const { io } = toCaller(call);
  const opened = await openMaybeLive(call);
  const { target, link } = opened;
  if (link !== null) return { ...target, client: link.client, stored: null };
  const { why, diagnosis } = opened;
  const stored = openStoredSession(target.context, target.agent, { diagnosis, why });
  await warn(io, `read from its files: ${why}`);
  // The routes and their framework: only a read without a gateway pays for them.
  const { openStoredCalls } = await import("../agent/stored-agent.ts");
  const routes = await loadStoredRoutes();
  const report = (problem: string) => void warn(io, problem);
  const client = openStoredCalls({ context: target.context, routes, report }, stored);
  return { ...target, client, stored };
}

/** The requests of the agent, newest first: of its gateway, else of the file of its queue. */
export async function listRequests(call: CallOf, query: { limit?: number; state?: "accepted" } = {}) {
  const { client } = await openReadable(call);
  return bodyOf<GatewayEndpoints["listRequests"]>(await client.call("listRequests", { query }));
}
