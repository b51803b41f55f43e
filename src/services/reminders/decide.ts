import type { RequestAdmission } from "../../protocol/gateway.ts";
import type { Readiness } from "../agent/agent.ts";
import type { Reminder } from "./reminder.ts";

export interface ReminderFacts {
  nowMs: number;
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
 * What becomes of the effective reminder now. Due, it needs open admission, a free slot and an empty queue; a prompt
 * moreover an agent that can begin a turn with nothing pending, for keys are for any screen. `reason` is one of a
 * few words, `detail` names the failing fact. Pure. Source: contract 3.3; ruling 7; spec/gateway.md 3.3.
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
