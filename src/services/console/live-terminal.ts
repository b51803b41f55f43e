import type { LeaseGrant, LeaseRequest } from "../../protocol/console.ts";
import { terminalFrames } from "../../protocol/console-endpoints.ts";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { TypingLease } from "../../protocol/gateway.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Directory, openedAgent } from "../fleet/directory.ts";
import type { CallRequest, CallResult, GatewayClient } from "../fleet/gateway-client.ts";
import type { Links } from "../fleet/links.ts";
import type { TypingLeases } from "../prompt/typing-lease.ts";
import type { PaneFrame } from "../terminal/tmux-pane-stream.ts";
import { createFrameReader, type TerminalFrame } from "./frames.ts";

/** The terminal of one agent, live: what a viewer of it sees and does. Its methods throw ServiceError. */
export interface LiveTerminal {
  /** Ends with `signal`, or when there is no terminal any more. */
  frames(signal: AbortSignal): AsyncGenerator<TerminalFrame>;
  take(request: LeaseRequest): Promise<LeaseGrant>;
  /** Ends the lease with this id; another person's stays. */
  release(leaseId: string): Promise<void>;
  type(leaseId: string, text: string): Promise<void>;
}

/** The terminal of this gateway's agent. `pane`: null for an agent without one. */
export function createLiveTerminal(deps: {
  leases: TypingLeases;
  pane: ((signal: AbortSignal) => AsyncGenerator<PaneFrame>) | null;
  epoch: () => number;
}): LiveTerminal {
  const { leases, pane, epoch } = deps;
  return {
    async *frames(signal) {
      if (pane === null) throw new ServiceError("unsupported", "a headless agent has no terminal");
      let shownLease: TypingLease | null | undefined;
      let changed = Promise.withResolvers<void>();
      const leave = leases.onChange(() => changed.resolve());
      const over = new AbortController();
      const frames = pane(AbortSignal.any([signal, over.signal]));
      let next = frames.next();
      try {
        for (;;) {
          const lease = leases.current();
          if (lease !== shownLease) {
            shownLease = lease;
            yield { kind: "message", message: { kind: "lease", lease, mine: false } };
          }
          changed = Promise.withResolvers();
          const step = await Promise.race([next, changed.promise]);
          if (step === undefined) continue;
          if (step.done) return;
          next = frames.next();
          yield toFrame(step.value, epoch());
        }
      } finally {
        over.abort();
        leave();
        await frames.return(undefined);
      }
    },
    async take({ holder, take_over }) {
      return leases.take({ holder, takeOver: take_over ?? false });
    },
    async release(leaseId) {
      leases.end(leaseId);
    },
    type: (leaseId, text) => leases.type(leaseId, text),
  };
}

function toFrame(frame: PaneFrame, epoch: number): TerminalFrame {
  if (frame.kind !== "picture") return frame;
  return { kind: "message", message: { ...frame, epoch } };
}

/** The same of any agent, through its gateway. Throws `not_found`, `ambiguous` and `unavailable` at once. */
export function createRemoteTerminal(
  deps: { directory: Directory; links: Links },
  agentRef: string,
): LiveTerminal {
  const { directory, links } = deps;
  const agent = openedAgent(directory.resolve(agentRef));

  async function client(): Promise<GatewayClient> {
    const link = await links.to(agent);
    if (link.state === "live") return link.client;
    throw new ServiceError("unavailable", `no live gateway serves the agent: ${link.why}`);
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
        ...{ method: terminalFrames.method, target: terminalFrames.path },
        ...{ headers: {}, body: null, signal },
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
