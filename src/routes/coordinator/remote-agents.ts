import { hostOperations } from "../../protocol/hosts.ts";
import { type HostRequest, handedOn } from "../../services/extensions/hosts/host-link.ts";
import type { MergedFleet } from "../../services/extensions/hosts/merged-fleet.ts";
import { ServiceError } from "../../system/errors.ts";
import { maxBodyBytes } from "../http/gate.ts";
import { pathOf, routesAt } from "../http/route.ts";

const base = "/svc/agents/";
const operations = [...hostOperations]
  .map(([name, { method, path }]) => ({ name, method, path }))
  .filter(({ path }) => path.startsWith(base));

/**
 * Sends an operation on an agent of another host to that host, before any route of this server reads the
 * request. Returns undefined for other requests. It comes after the gate, so the checks of callers, origins
 * and sizes are the same as for local agents.
 */
export function remoteAgents(fleet: MergedFleet): (request: Request) => Promise<Response | undefined> {
  return async (request) => {
    const path = pathOf(request.url);
    if (!path.startsWith(base)) return undefined;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const operation = routesAt(operations, path).find((one) => one.method === method);
    if (!operation) return undefined;
    const params = paramsOf(operation.path, path);
    const { agent_ref: ref = "" } = params;
    const route = await fleet.route(ref);
    // For a local agent the routes take the name without the name of this host.
    if (route.at === "here") return undefined;
    if (route.hostAwaySinceUtc !== null) {
      throw new ServiceError(
        "unavailable",
        `host "${route.host}" does not answer since ${route.hostAwaySinceUtc}: nothing was sent`,
      );
    }
    const headers: Record<string, string> = {};
    for (const name of handedOn) {
      const value = request.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    const sent: HostRequest = {
      operation: operation.name,
      headers,
      signal: request.signal,
      ...(request.method === "HEAD" ? { method: "HEAD" as const } : {}),
      params: { ...params, agent_ref: route.ref },
      query: new URL(request.url).search,
      body: method === "GET" || method === "DELETE" ? null : await readBody(request),
    };
    return fleet.send(route, sent);
  };
}

function paramsOf(pattern: string, path: string): Record<string, string> {
  const parts = path.split("/");
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.split("/").entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decodeURIComponent(parts[index] ?? "");
  }
  return params;
}

/** The whole body, since a part of a request is of no use; null for an empty body. */
async function readBody(request: Request): Promise<Uint8Array | null> {
  if (request.body === null) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxBodyBytes)
      throw new ServiceError("too_large", `the body is larger than ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  return size === 0 ? null : new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}
