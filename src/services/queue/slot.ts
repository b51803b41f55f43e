import type { BudgetState } from "../../protocol/budget.ts";
import type { RemindersLost, Waiting, WakesHeld } from "../../protocol/gateway.ts";
import type { TokenSum } from "../../protocol/usage.ts";
import {
  decideNext,
  isSlotRunning,
  type NextDecision,
  type NextFacts,
  refuseSlot,
  type SlotClaimant,
  type SlotRefusal,
  type SlotUse,
} from "./eligibility.ts";

/** The state of the slot, which its members fill in. */
export interface SlotReport extends SlotUse {
  /** Whether the gateway's status is `running`; derived from the other fields. */
  running: boolean;
  /** Requests accepted or running. */
  depth: number;
  /** Why the oldest request has not started, or null when nothing waits. */
  waiting: Waiting | null;
  /** The reminders that ended with the previous process. */
  remindersLost: RemindersLost | null;
  /** The limit that keeps mail from waking the agent. */
  wakesHeld: WakesHeld | null;
  /** The reached budget. */
  budgetState: BudgetState | null;
  /** Tokens of all turns, the same object while it is unchanged; null before the first counted turn. */
  tokens: TokenSum | null;
}

interface SlotMember {
  /** Fills in the member's part of a report. Called for each status request. */
  report?(all: SlotReport): void;
  /** Called after a change of another member, the agent, the admission or the disk. */
  wake?(): void;
  /** Called after another member changed stored requests: counts them again and looks. */
  recount?(): void;
}

type MemberName = "status" | "turns" | "queue" | "reminders" | "notifier" | "typing" | "budget" | "ledger";

/**
 * Arbiter of the execution slot. Status, queue, reminders and notifier depend on it and not on one another:
 * each joins, reports its use of the slot, and looks again when another member calls `changed`.
 */
export type ExecutionSlot = ReturnType<typeof createExecutionSlot>;

type DecisionListener = (facts: NextFacts, decision: NextDecision) => void;

export function createExecutionSlot() {
  const decisionListeners = new Set<DecisionListener>();
  const members = new Map<MemberName, SlotMember>();
  const reporters: Required<Pick<SlotMember, "report">>[] = [];

  function report(): SlotReport {
    const all: SlotReport = {
      request: false,
      reminder: null,
      contextMaintenance: null,
      turn: false,
      typing: null,
      budget: null,
      budgetState: null,
      tokens: null,
      depth: 0,
      waiting: null,
      remindersLost: null,
      wakesHeld: null,
      running: false,
    };
    for (const member of reporters) member.report(all);
    all.running = isSlotRunning(all);
    return all;
  }

  return {
    /** Members look in the order in which they join. */
    join(name: MemberName, member: SlotMember): void {
      members.set(name, member);
      const { report } = member;
      if (report) reporters.push({ report });
    },
    report,
    refusal: (claimant: SlotClaimant): SlotRefusal => refuseSlot(claimant, report()),
    running: (): boolean => report().running,
    /** Calls `listener` with each decision of the queue and its facts. Returns the unsubscribe function. */
    onDecision(listener: DecisionListener): () => void {
      decisionListeners.add(listener);
      return () => decisionListeners.delete(listener);
    },
    /** Calls `decideNext` and reports the decision to the listeners. */
    decide(facts: NextFacts): NextDecision {
      const decision = decideNext(facts);
      for (const listener of decisionListeners) listener(facts, decision);
      return decision;
    },
    /** Wakes every member except `by`, the member that changed; without `by` wakes all. */
    changed(by?: MemberName): void {
      for (const [name, member] of members) if (name !== by) member.wake?.();
    },
    recount(): void {
      for (const member of members.values()) member.recount?.();
    },
  };
}
