import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { BudgetState } from "../../protocol/budget.ts";
import type {
  AdmissionBlock,
  RemindersLost,
  RequestAdmission,
  TypingLease,
  Waiting,
  WakesHeld,
} from "../../protocol/gateway.ts";
import type { TokenSum } from "../../protocol/usage.ts";
import { assertNever } from "../../system/errors.ts";
import type { Readiness, SubmitPolicy } from "../agent/agent.ts";

/** The present use of the execution slot. */
export interface SlotUse {
  /** A request of the queue runs. */
  request: boolean;
  /** `attempt`: the reminder looks at the agent and has typed nothing yet. */
  reminder: "attempt" | "execution" | null;
  /** The notifier's work on the agent's conversation before a wake-up, as a clause for people. */
  contextMaintenance: string | null;
  /** A turn that is a separate process runs, for a request or for a direct prompt. */
  turn: boolean;
  /** The person who types into the terminal, and until when. */
  typing: TypingLease | null;
  /** Why no turn may begin: a budget was reached, as a clause for people. */
  budget: string | null;
}

/** A claimant of the slot. An `interrupt` stops the running work, so it never waits (ruling 8). */
export type SlotClaimant = "request" | "interrupt" | "reminder" | "direct_prompt";

/** Why `claimant` may not take the slot now, as a clause for people, or null when it may. */
type SlotRefusal = string | null;

/**
 * Whether `claimant` may take the execution slot. A running turn is no reason here; the agent's readiness
 * covers it. Rows: the claimant; columns: the holder of the slot.
 *
 * |               | request | reminder, attempt | reminder, execution | context maintenance | typing lease | budget  |
 * | request       | itself  | waits             | waits               | waits               | waits        | waits   |
 * | interrupt     | may     | may               | may                 | may                 | may          | may     |
 * | reminder      | waits   | itself            | itself              | waits               | waits        | waits   |
 * | direct prompt | refused | may               | refused             | refused             | refused      | refused |
 *
 * Pure. Source: contract 2.2, 4.2; ruling 8.
 */
export function refuseSlot(claimant: SlotClaimant, use: SlotUse): SlotRefusal {
  const byRequest = use.request ? "a request is being executed" : null;
  const byReminder = use.reminder === null ? null : "a reminder is being delivered";
  const byOther = use.contextMaintenance ?? (use.typing && typedByHand(use.typing)) ?? use.budget;
  switch (claimant) {
    case "interrupt":
      return null;
    case "request":
      return byReminder ?? byOther;
    case "reminder":
      return byRequest ?? byOther;
    case "direct_prompt":
      return byRequest ?? (use.reminder === "execution" ? byReminder : null) ?? byOther;
    default:
      return assertNever(claimant);
  }
}

function typedByHand({ holder, until_utc }: TypingLease): string {
  return `"${holder}" types in the terminal, until ${until_utc} at most without a key`;
}

/** Whether the slot is in use by what has begun. A reminder's attempt has not begun anything. Pure. */
export function isSlotRunning(use: SlotUse): boolean {
  return use.request || use.reminder === "execution" || use.contextMaintenance !== null || use.turn;
}

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

/** The facts for the choice of the next request. */
export interface NextFacts {
  admission: RequestAdmission;
  /** Why it is not open. */
  block: AdmissionBlock | null;
  epoch: number;
  /** The oldest accepted request of each lane, oldest first. */
  heads: readonly StoredRequest[];
  /** Why a prompt may not take the slot now. */
  slotRefusal: SlotRefusal;
  /** A person types into the terminal. */
  typing: boolean;
  /** A budget was reached. */
  budget: boolean;
  readiness: (policy: SubmitPolicy) => Readiness;
}

export type NextDecision =
  | { do: "rest" }
  /** Nothing is eligible: `head` is the oldest request, and `reason` and `detail` say what it waits for. */
  | { do: "wait"; head: StoredRequest; reason: string; detail: string }
  /** Accepted for an earlier instance of the agent: it can only fail. */
  | { do: "expire"; request: StoredRequest; errorDetail: string }
  | { do: "run"; request: StoredRequest };

/**
 * Picks the request that takes the slot: the oldest eligible one. An interrupt is always eligible and so
 * overtakes prompts that wait; a prompt is eligible when the slot is free and the agent can take it under its
 * delivery. Pure. Source: contract 3.1; rulings 7 and 8.
 */
export function decideNext(facts: NextFacts): NextDecision {
  const { admission, heads } = facts;
  const [head] = heads;
  if (!head) return { do: "rest" };
  if (admission !== "open") {
    return { do: "wait", head, reason: admission, detail: facts.block?.detail ?? "" };
  }
  const stale = heads.find((one) => one.epoch !== facts.epoch);
  if (stale) {
    const errorDetail = `accepted for instance epoch ${stale.epoch}; the agent is now at ${facts.epoch}`;
    return { do: "expire", request: stale, errorDetail };
  }
  let waiting: NextDecision | null = null;
  for (const request of heads) {
    if (request.kind === "interrupt") return { do: "run", request };
    if (facts.slotRefusal !== null) {
      const reason = facts.typing ? "typing_lease" : facts.budget ? "budget" : "execution_slot";
      waiting ??= { do: "wait", head: request, reason, detail: facts.slotRefusal };
      continue;
    }
    const answer = facts.readiness(policyOf(request));
    if (answer.ready) return { do: "run", request };
    waiting ??= { do: "wait", head: request, reason: answer.code, detail: answer.detail };
  }
  return waiting ?? { do: "rest" };
}

/** How a stored prompt asks to be delivered (ruling 7). */
export function policyOf(request: StoredRequest): SubmitPolicy {
  return request.lane === "immediate" ? "composer" : "turn_boundary";
}
