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

/** The report that the members of the slot fill in. */
export interface SlotReport extends SlotUse {
  /** Whether the gateway's status calls the slot `running`, derived from the other fields. */
  running: boolean;
  /** Requests accepted or running. */
  depth: number;
  /** Why the oldest request has not started, or null when nothing waits. */
  waiting: Waiting | null;
  /** The reminders that ended with the former process. */
  remindersLost: RemindersLost | null;
  /** Which limit keeps mail from waking the agent. */
  wakesHeld: WakesHeld | null;
  /** A budget that was reached. */
  budgetState: BudgetState | null;
  /** Of all turns so far, the same object while it is unchanged; null until one was counted. */
  tokens: TokenSum | null;
}

interface SlotMember {
  /** Fills in its own part of the report, which is made for each request for the status. */
  report?(all: SlotReport): void;
  /** Look again: another member, the agent, the admission or the disk may have changed. */
  wake?(): void;
  /** Another member changed stored requests: count them again, then look. */
  recount?(): void;
}

type MemberName = "status" | "turns" | "queue" | "reminders" | "notifier" | "typing" | "budget" | "ledger";

/**
 * Arbiter of the execution slot. Status, queue, reminders and notifier know this and not one another: each
 * joins, reports what it does with the slot, and looks again when another one calls `changed`.
 */
export type ExecutionSlot = ReturnType<typeof createExecutionSlot>;

type DecisionListener = (facts: NextFacts, decision: NextDecision) => void;

export function createExecutionSlot() {
  const deciding = new Set<DecisionListener>();
  const members = new Map<MemberName, SlotMember>();
  const reporting: Required<Pick<SlotMember, "report">>[] = [];

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
    for (const member of reporting) member.report(all);
    all.running = isSlotRunning(all);
    return all;
  }

  return {
    /** Members look in the order in which they join. */
    join(name: MemberName, member: SlotMember): void {
      members.set(name, member);
      const { report } = member;
      if (report) reporting.push({ report });
    },
    report,
    refusal: (claimant: SlotClaimant): SlotRefusal => refuseSlot(claimant, report()),
    running: (): boolean => report().running,
    /** Called with each choice of the queue and what it was made by. Returns how to stop listening. */
    onDecision(listener: DecisionListener): () => void {
      deciding.add(listener);
      return () => deciding.delete(listener);
    },
    /** `decideNext`, and who listens hears of it. */
    decide(facts: NextFacts): NextDecision {
      const decision = decideNext(facts);
      for (const listener of deciding) listener(facts, decision);
      return decision;
    },
    /** `by` changed; without it, something outside of the slot did. Every member but `by` looks again. */
    changed(by?: MemberName): void {
      for (const [name, member] of members) if (name !== by) member.wake?.();
    },
    recount(): void {
      for (const member of members.values()) member.recount?.();
    },
  };
}
