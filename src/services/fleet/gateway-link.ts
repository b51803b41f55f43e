import { Value } from "@sinclair/typebox/value";
import { CurrentInstance } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Network } from "../../system/network.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import { createGatewayClient, type GatewayClient } from "./gateway-client.ts";

/**
 * `absent`: nothing claims to be this session's gateway. `stale`: something did, and does not answer as it.
 */
export type GatewayLink =
  | { state: "healthy"; instance: CurrentInstance; client: GatewayClient; status: GatewayStatus }
  | { state: "stale"; instance: CurrentInstance; why: string }
  | { state: "absent"; why: string };

export interface GatewayLinkDeps {
  files: Files;
  clock: Clock;
  env: Environment;
  /** Instead of the runtime's own. */
  network?: Pick<Network, "fetch">;
}

/** A gateway on a slow disk answers nothing while it commits: only one that is stopped takes all of it. */
const probeTimeoutMs = 5000;

/**
 * Finds the live gateway of a session: the current-instance record says where, `GET /health` that something of
 * ours listens, and the status that it serves this very session (a port may have passed to another agent's
 * gateway). A port is never guessed, and what the environment of an older process says is never used.
 * `attachIdentity`: see `gatewayIdentity`. The token comes from SVC_GATEWAY_TOKEN, else from the file beside
 * the record (ruling 12).
 */
export async function linkGateway(
  deps: GatewayLinkDeps,
  session: { sessionRoot: string; attachIdentity: string },
): Promise<GatewayLink> {
  const { files, clock, env, network } = deps;
  const paths = sessionPaths(session.sessionRoot);
  const instance = readCurrentInstance(files, paths.currentInstance);
  if (instance === null) return { state: "absent", why: "no gateway runs for this agent" };
  const stale = (why: string): GatewayLink => ({ state: "stale", instance, why });

  const client = createGatewayClient({
    clock,
    baseUrl: `http://${reachableHost(instance.host)}:${instance.port}`,
    token: env["SVC_GATEWAY_TOKEN"] || files.readOwn(paths.token)?.trim() || null,
    respectProxyEnvironment: env["SVC_GATEWAY_RESPECT_PROXY_ENV"] === "1",
    ...(network ? { fetch: network.fetch } : {}),
  });
  const health = await client.call("health", { timeoutMs: probeTimeoutMs });
  if (health.kind !== "ok") return stale(health.detail);
  const status = await client.call("status", { timeoutMs: probeTimeoutMs });
  if (status.kind !== "ok") return stale(status.detail);
  if (status.body.attach_identity !== session.attachIdentity) {
    return stale(`${client.baseUrl} is the gateway of ${status.body.attach_identity}`);
  }
  return { state: "healthy", instance, client, status: status.body };
}

/** The record of a live gateway, or null when there is none or it is not whole (it is then not believed). */
export function readCurrentInstance(files: Files, path: string): CurrentInstance | null {
  const text = files.readOwn(path);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(CurrentInstance, value) ? value : null;
  } catch {
    return null;
  }
}

/** A listener on all addresses is reached over loopback (contract 4.1, mail rule 2). */
function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
