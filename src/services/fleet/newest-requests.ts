import type { RequestRecord } from "../../protocol/gateway.ts";
import type { Files } from "../../system/files.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { readOfflineRequests } from "../status/project.ts";
import { requestsLookedAt } from "./attention-facts.ts";
import type { GatewayClient } from "./gateway-client.ts";

/**
 * The newest requests of an agent, newest first: of its gateway, or of its queue's file where none serves it. Empty when
 * they cannot be read. `client`: null without a gateway.
 */
export async function newestRequests(
  { files }: { files: Pick<Files, "exists"> },
  { sessionRoot }: { sessionRoot: string },
  client: Pick<GatewayClient, "call"> | null,
  options: { timeoutMs?: number } = {},
): Promise<RequestRecord[]> {
  if (client) {
    const response = await client.call("listRequests", { query: { limit: requestsLookedAt }, ...options });
    return response.kind === "ok" ? response.body.requests : [];
  }
  const { queue } = sessionPaths(sessionRoot);
  if (!files.exists(queue)) return [];
  try {
    return readOfflineRequests(queue, requestsLookedAt, "no gateway runs for this agent");
  } catch {
    // The status says why the queue cannot be read.
    return [];
  }
}
