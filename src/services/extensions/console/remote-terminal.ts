import { terminalFrames } from "../../../protocol/console-endpoints.ts";
import type { GatewayEndpoints } from "../../../protocol/endpoints.ts";
import { ServiceError } from "../../../system/errors.ts";
import { noLiveGateway } from "../../fleet/diagnose-agent.ts";
import { type Directory, openedAgent } from "../../fleet/directory.ts";
import type { CallRequest, CallResult, GatewayClient } from "../../fleet/gateway-client.ts";
import type { Links } from "../../fleet/links.ts";
import { createFrameReader } from "./frames.ts";
import type { LiveTerminal } from "./live-terminal.ts";

/**
 * The live terminal of any agent, through its gateway. Throws `not_found`, `ambiguous` and `unavailable` at
 * once.
 */
export function createRemoteTerminal(
  deps: { directory: Directory; links: Links },
  agentRef: string,
): LiveTerminal {
  const { directory, links } = deps;
  const agent = openedAgent(directory.resolve(agentRef));

  async function client(): Promise<GatewayClient> {
    const link = await links.to(agent);
    if (link.state === "live") return link.client;
    throw noLiveGateway(agent, link);
  }

  async function call<Name extends keyof GatewayEndpoints>(name: Name, request: CallRequest<Name>) {
    const reply = await (await client()).call(name, request);
    if (reply.kind === "ok") return reply.body;
    throw refused(reply);
  }

  return {
    async *frames(signal) {
      const gateway = await client();
      const response = await gateway.forward({
        method: terminalFrames.method,
        target: terminalFrames.path,
        headers: {},
        body: null,
        signal,
      });
      if (!response.ok || response.body === null) {
        await response.body?.cancel();
        throw new ServiceError("unavailable", "the gateway shows no terminal of this agent");
      }
      const frames = createFrameReader();
      const reader = response.body.getReader();
      try {
        for (;;) {
          const part = await reader.read();
          if (part.done) return;
          yield* frames.push(part.value);
        }
      } finally {
        await reader.cancel().catch(() => {});
      }
    },
    take: (body) => call("takeTypingLease", { body }),
    async release(leaseId) {
      // Refused when it has ended already.
      await call("typeText", { body: { lease_id: leaseId, text: "", release: true } }).catch(() => {});
    },
    async type(lease_id, text) {
      await call("typeText", { body: { lease_id, text } });
    },
  };
}

function refused(reply: Exclude<CallResult<GatewayEndpoints[keyof GatewayEndpoints]>, { kind: "ok" }>) {
  return new ServiceError(reply.kind === "refused" ? "conflict" : "unavailable", reply.detail);
}
