import { type LeaseGrant, leaseIdleSeconds, leaseMaxSeconds } from "../../protocol/console.ts";
import type { TypingLease } from "../../protocol/gateway.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { type Agent, terminalOf } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { StatusBoard } from "../status/status-board.ts";

/**
 * The right to type into the terminal by hand, for one person at a time. During a lease only an interrupt
 * takes the execution slot. A lease ends when a caller ends it, after a minute without a key, and half an
 * hour after it began. Throws ServiceError: `conflict` when another person holds the lease or the caller's
 * lease has ended.
 */
export interface TypingLeases {
  current(): TypingLease | null;
  /** Grants a lease. `takeOver`: ends the lease of another person first. */
  take(options: { holder: string; takeOver: boolean }): LeaseGrant;
  /** Ends the lease with this id; without an id, any lease. Harmless to repeat. */
  end(leaseId?: string): void;
  /** Types the input of a keyboard unchanged. */
  type(leaseId: string, text: string): Promise<void>;
  onChange(listener: () => void): () => void;
  stop(): void;
}

interface HeldLease {
  leaseId: string;
  lease: TypingLease;
  untilMs: number;
  endsMs: number;
  cancel: () => void;
}

const idleMs = leaseIdleSeconds * 1000;
/** A lease is renewed at most this often, since each renewal writes the status. */
const renewMs = 10_000;

export function createTypingLeases(deps: {
  agent: Pick<Agent, "terminal" | "connectivity" | "backend">;
  board: Pick<StatusBoard, "reconciliationRequired">;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  /** Called after the holder or the end of the lease changed. */
  onChange: () => void;
}): TypingLeases {
  const { agent, board, clock, ids, events } = deps;
  const listeners = new Set<() => void>();
  let held: HeldLease | null = null;

  function changed(): void {
    deps.onChange();
    for (const listener of [...listeners]) listener();
  }

  function endAt(leaseId: string, untilMs: number): () => void {
    return clock.after(untilMs - clock.monotonicMs(), () => end(leaseId, "it was not used"));
  }

  function end(leaseId: string | undefined, why: string): void {
    if (held === null || (leaseId !== undefined && held.leaseId !== leaseId)) return;
    held.cancel();
    const { holder } = held.lease;
    held = null;
    events.append("typing_lease_ended", { holder, detail: why });
    changed();
  }

  const timestampAt = (monotonicMs: number) => toTimestamp(clock.nowMs() + monotonicMs - clock.monotonicMs());

  function renew(lease: HeldLease): void {
    const untilMs = Math.min(clock.monotonicMs() + idleMs, lease.endsMs);
    if (untilMs - lease.untilMs < renewMs) return;
    lease.cancel();
    lease.untilMs = untilMs;
    lease.lease = { ...lease.lease, until_utc: timestampAt(untilMs) };
    lease.cancel = endAt(lease.leaseId, untilMs);
    changed();
  }

  return {
    current: () => held?.lease ?? null,
    take({ holder, takeOver }) {
      if (board.reconciliationRequired())
        throw new ServiceError("blocked_reconciliation", "the agent is a new instance; reconcile first");
      if (!backendFacts(agent.backend).exactKeys)
        throw new ServiceError("unsupported", `nobody types by hand into a ${agent.backend} session`);
      const connectivity = agent.connectivity();
      if (!connectivity.connected) throw new ServiceError("unavailable", connectivity.detail);
      if (held !== null && !takeOver) {
        const { lease } = held;
        throw new ServiceError(
          "conflict",
          `"${lease.holder}" types in this terminal until ${lease.until_utc}; take it over with take_over`,
        );
      }
      end(undefined, `"${holder}" took it over`);
      const nowMs = clock.monotonicMs();
      const leaseId = ids.hex(16);
      const lease: TypingLease = {
        holder,
        since_utc: toTimestamp(clock.nowMs()),
        until_utc: timestampAt(nowMs + idleMs),
      };
      const endsMs = nowMs + leaseMaxSeconds * 1000;
      held = { leaseId, lease, untilMs: nowMs + idleMs, endsMs, cancel: endAt(leaseId, nowMs + idleMs) };
      events.append("typing_lease_taken", { holder });
      changed();
      return { schema_version: 1, lease_id: leaseId, lease };
    },
    end: (leaseId) => end(leaseId, "it was given back or taken back"),
    async type(leaseId, text) {
      const lease = held;
      if (lease === null || lease.leaseId !== leaseId) {
        const why = lease === null ? "it has ended" : `"${lease.lease.holder}" has it now`;
        throw new ServiceError("conflict", `nothing was typed without the typing lease: ${why}`);
      }
      renew(lease);
      if (text !== "") await terminalOf(agent).type(text);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop() {
      held?.cancel();
    },
  };
}

/**
 * Removes the automatic replies of a terminal to queries of a program: tmux has already answered them, and
 * the program would take a second reply for keys. Pure.
 */
export function withoutTerminalReplies(text: string): string {
  return text.replace(
    // Device attributes and status, mode reports, colours, and strings of DCS.
    /\x1b\[[?>=]?[\d;]*c|\x1b\[\??\d+(?:;\d+)*[nR]|\x1b\[\?[\d;]*\$y|\x1b\](?:4;\d+|1[0-9]);rgb:[\da-fA-F/]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\/g,
    "",
  );
}
