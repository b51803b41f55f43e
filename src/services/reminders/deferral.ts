import type { Waiting } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Reminder } from "./reminder.ts";

/** Why a due reminder is not delivered: kept for whoever looks, and told once for each reason. */
export interface Deferrals {
  note(reminder: Reminder, why: { reason: string; detail: string }): void;
  /** Null when this reminder, as it is now, was not deferred. */
  waitingOf(reminder: Reminder): Waiting | null;
}

/** A changed reminder, or the next time of a repeating one, begins anew. `onReason`: the first time of a reason. */
export function createDeferrals(deps: {
  clock: Clock;
  onReason: (reminder: Reminder, why: { reason: string; detail: string }) => void;
}): Deferrals {
  let latest: { of: Reminder; waiting: Waiting; told: Set<string> } | null = null;
  return {
    note(of, { reason, detail }) {
      const before = latest?.of === of ? latest : null;
      const since_utc =
        before?.waiting.reason === reason ? before.waiting.since_utc : timestampNow(deps.clock);
      const told = before?.told ?? new Set();
      latest = { of, waiting: { reason, detail, since_utc }, told };
      if (told.has(reason)) return;
      told.add(reason);
      deps.onReason(of, { reason, detail });
    },
    waitingOf: (reminder) => (latest?.of === reminder ? latest.waiting : null),
  };
}
