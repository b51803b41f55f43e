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
 * Who may type into the terminal by hand: one person at a time. While a lease is held nothing takes the
 * execution slot but an interrupt. It ends when its holder gives it back, when anybody ends it, without a key
 * for a minute, and half an hour after it began. Throws ServiceError: `conflict` when another person has it,
 * or this one no more.
 */
export interface TypingLeases {
  current(): TypingLease | null;
  /** Ends another person's lease only with `takeOver`. */
  take(options: { holder: string; takeOver: boolean }): LeaseGrant;
  /** Ends the lease; with an id only that one, else any. Harmless to repeat. */
  end(leaseId?: string): void;
  /** Types what the keyboard sent, as it is. */
  type(leaseId: string, text: string): Promise<void>;
  onChange(listener: () => void): () => void;
  stop(): void;
}

interface Held {
  leaseId: string;
  lease: TypingLease;
  untilMs: number;
  endsMs: number;
  cancel: () => void;
}

const idleMs = leaseIdleSeconds * 1000;
/** A lease that is renewed less often is a status that is written less often. */
const renewMs = 10_000;

export function createTypingLeases(deps: {
  agent: Pick<Agent, "terminal" | "connectivity" | "backend">;
  board: Pick<StatusBoard, "reconciliationRequired">;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  /** Who holds it changed, or until when. */
  onChange: () => void;
}): TypingLeases {
  const { agent, board, clock, ids, events } = deps;
  const listeners = new Set<() => void>();
  let held: Held | null = null;

  function changed(): void {
    deps.onChange();
    for (const listener of [...listeners]) listener();
  }

  function arm(leaseId: string, untilMs: number): () => void {
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

  function renew(of: Held): void {
    const untilMs = Math.min(clock.monotonicMs() + idleMs, of.endsMs);
    if (untilMs - of.untilMs < renewMs) return;
    of.cancel();
    of.untilMs = untilMs;
    of.lease = { ...of.lease, until_utc: timestampAt(untilMs) };
    of.cancel = arm(of.leaseId, untilMs);
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
      held = { leaseId, lease, untilMs: nowMs + idleMs, endsMs, cancel: arm(leaseId, nowMs + idleMs) };
      events.append("typing_lease_taken", { holder });
      changed();
      return { schema_version: 1, lease_id: leaseId, lease };
    },
    end: (leaseId) => end(leaseId, "it was given back or taken back"),
    async type(leaseId, text) {
      const mine = held;
      if (mine === null || mine.leaseId !== leaseId) {
        const why = mine === null ? "it has ended" : `"${mine.lease.holder}" has it now`;
        throw new ServiceError("conflict", `nothing was typed without the typing lease: ${why}`);
      }
      renew(mine);
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
 * Without what a terminal answers by itself when a program asks it: tmux has answered already, and the
 * program would take a second answer for keys. Pure.
 */
export function withoutTerminalReplies(text: string): string {
  return text.replace(
    // Device attributes and status, mode reports, colours, and strings of DCS.
    /\x1b\[[?>=]?[\d;]*c|\x1b\[\??\d+(?:;\d+)*[nR]|\x1b\[\?[\d;]*\$y|\x1b\](?:4;\d+|1[0-9]);rgb:[\da-fA-F/]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\/g,
    "",
  );
}
