import type { LeaseGrant, LeaseRequest } from "../../../protocol/console.ts";
import type { TypingLease } from "../../../protocol/gateway.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { TypingLeases } from "../../prompt/typing-lease.ts";
import type { PaneFrame } from "../../terminal/tmux/pane-stream.ts";
import type { TerminalFrame } from "./frames.ts";

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
