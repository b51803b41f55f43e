import type { RequestAdmission, Waiting } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Readiness } from "../agent/agent.ts";
import { candidatesOf, type Reminder } from "./reminder.ts";

export interface ReminderFacts {
  nowMs: number;
  /** The one that may be delivered. */
  effective: Pick<Reminder, "dueMs" | "paused" | "delivery_kind"> | null;
  admission: RequestAdmission;
  /** Something else holds the execution slot. */
  running: boolean;
  /** Requests accepted or running. */
  queueDepth: number;
  /** Whether the agent can begin a new turn. */
  readiness: Readiness;
}

export type ReminderDecision =
  | { do: "rest"; why: "no_reminder" | "paused" }
  | { do: "sleep"; delayMs: number }
  | { do: "defer"; reason: string; detail: string }
  | { do: "deliver" };

/**
 * What becomes of the effective reminder now. Due, it needs open admission, a free slot and an empty queue; a
 * prompt moreover an agent that can begin a turn with nothing pending, for keys are for any screen. `reason`
 * is one of a few words, `detail` names the failing fact. Pure. Source: contract 3.3; ruling 7;
 * spec/gateway.md 3.3.
 */
export function decideReminder(facts: ReminderFacts): ReminderDecision {
  const { effective, admission, readiness } = facts;
  if (!effective) return { do: "rest", why: "no_reminder" };
  if (effective.paused) return { do: "rest", why: "paused" };
  if (effective.dueMs > facts.nowMs) return { do: "sleep", delayMs: effective.dueMs - facts.nowMs };
  if (admission !== "open") return defer(admission, `request_admission=${admission}`);
  if (facts.running) return defer("execution_slot", "active_execution=running");
  if (facts.queueDepth > 0) return defer("queue_depth", `queue_depth=${facts.queueDepth}`);
  if (effective.delivery_kind === "prompt" && !readiness.ready) {
    return defer(readiness.code, readiness.detail);
  }
  return { do: "deliver" };
}

function defer(reason: string, detail: string): ReminderDecision {
  return { do: "defer", reason, detail };
}

/** The wall clock may be set, and the machine may sleep, while a due time is waited for. */
const maxSleepMs = 60_000;

/**
 * What a turn does: `deliver` is the due reminder that may be delivered now and is due longest, `deferred` are
 * those that are due longer and may not. `waitMs`: how long nothing but time makes another due; null when time
 * never does. `gate` is asked only where one is due. Pure.
 */
export function planReminders(facts: {
  reminders: Iterable<Reminder>;
  effective: Reminder | null;
  nowMs: number;
  gate: () => Omit<ReminderFacts, "effective" | "nowMs">;
}): {
  deliver: Reminder | null;
  deferred: { reminder: Reminder; reason: string; detail: string }[];
  waitMs: number | null;
} {
  const { nowMs } = facts;
  const { due, nextMs } = candidatesOf(facts.reminders, facts);
  const waitMs = nextMs === null ? null : Math.min(Math.max(1, nextMs - nowMs), maxSleepMs);
  const deferred: { reminder: Reminder; reason: string; detail: string }[] = [];
  if (due.length === 0) return { deliver: null, deferred, waitMs };
  const gate = facts.gate();
  for (const reminder of due) {
    const decision = decideReminder({ ...gate, nowMs, effective: reminder });
    if (decision.do === "deliver") return { deliver: reminder, deferred, waitMs };
    if (decision.do === "defer") {
      deferred.push({ reminder, reason: decision.reason, detail: decision.detail });
    }
  }
  return { deliver: null, deferred, waitMs };
}

/** Why a due reminder is not delivered: kept for readers of its record, and reported once for each reason. */
interface Deferrals {
  note(reminder: Reminder, why: { reason: string; detail: string }): void;
  /** Null when this reminder, as it is now, was not deferred. */
  waitingOf(reminder: Reminder): Waiting | null;
}

/**
 * A changed reminder, or the next time of a repeating one, starts again. `onReason`: the first time of a
 * reason.
 */
export function createDeferrals(deps: {
  clock: Clock;
  onReason: (reminder: Reminder, why: { reason: string; detail: string }) => void;
}): Deferrals {
  const latest = new WeakMap<Reminder, { waiting: Waiting; reported: Set<string> }>();
  return {
    note(of, { reason, detail }) {
      const before = latest.get(of);
      const since_utc =
        before?.waiting.reason === reason ? before.waiting.since_utc : timestampNow(deps.clock);
      const reported = before?.reported ?? new Set();
      latest.set(of, { waiting: { reason, detail, since_utc }, reported });
      if (reported.has(reason)) return;
      reported.add(reason);
      deps.onReason(of, { reason, detail });
    },
    waitingOf: (reminder) => latest.get(reminder)?.waiting ?? null,
  };
}
