import { readLedgerGroups } from "../../../../db/gateway/ledger-store.ts";
import { type BudgetLimit, type BudgetState, budgetRemedy } from "../../../../protocol/budget.ts";
import type { PriceList } from "../../../../protocol/fleet-ledger.ts";
import type { LedgerGroup } from "../../../../protocol/ledger.ts";
import type { Advise } from "../../../../protocol/remedy.ts";
import { type Clock, timestampNow } from "../../../../system/clock.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { createLoop, type Lifecycle } from "../../../../system/lifecycle.ts";
import { type BudgetFacts, decideBudget, type KnownTeam, listTeams, readBudget, usedOf } from "./budget.ts";

/** The budgets of an agent and of its team, as its gateway keeps them. */
export interface BudgetWatch extends Lifecycle {
  /** The same object while nothing changed; null while none is reached. */
  state(): BudgetState | null;
  /** Why no turn may begin, as a clause for people; null when one may. */
  holds(): string | null;
  /** A budget was written, or turns were counted. */
  wake(): void;
}

/** A look is this fresh at least. */
const freshMs = 1_000;
/** While a budget is reached: it may be raised, and the day ends. */
const reachedMs = 2_000;
const teamsMs = 5_000;

/** What a look found. */
export interface BudgetFindings {
  /** The same object while it says the same. */
  reached: BudgetState | null;
  /** A budget that can hold turns is set. */
  hasHold: boolean;
}

/** `since_utc` is kept while the level and its owner are the same. Pure but for `advise`. */
export function nextFindings(
  previous: BudgetFindings,
  budgets: readonly BudgetFacts[],
  { nowUtc, advise }: { nowUtc: string; advise: Advise },
): BudgetFindings {
  const { reached } = previous;
  const hasHold = budgets.some(({ limit }) => limit.hold !== null);
  const decision = decideBudget(budgets);
  if (decision?.level === reached?.level && decision?.detail === reached?.detail) return { reached, hasHold };
  if (decision === null) return { reached: null, hasHold };
  const isSame = decision.level === reached?.level && decision.of === reached.of;
  const since_utc = isSame ? reached.since_utc : nowUtc;
  const command = advise(budgetRemedy(decision)).command ?? "";
  return { reached: { ...decision, since_utc, command }, hasHold };
}

export function createBudgetWatch(deps: {
  files: Files;
  clock: Clock;
  agent: { id: string; name: string };
  sessionRoot: string;
  teamsFolder: string;
  prices: () => PriceList;
  /** Of the agent itself. */
  groups: (period: { since?: string }) => LedgerGroup[];
  /** The ledger's file of another agent; null for one that is gone. */
  ledgerOf: (agentId: string) => string | null;
  /** The team file that owns an agent, by its id. */
  ownerOf: (agentId: string) => string | undefined;
  /** The last turn ended and is not counted yet. */
  counting: () => boolean;
  /** How its remedies are worded. */
  advise: Advise;
  onChange: () => void;
  onError: (error: unknown) => void;
}): BudgetWatch {
  const { files, clock, agent } = deps;
  let findings: BudgetFindings & { lookedMs: number } = {
    reached: null,
    hasHold: false,
    lookedMs: Number.NEGATIVE_INFINITY,
  };
  let team: { known: KnownTeam | null; lookedMs: number } = {
    known: null,
    lookedMs: Number.NEGATIVE_INFINITY,
  };
  let published: string | null = null;

  function ownTeam(): KnownTeam | null {
    const nowMs = clock.monotonicMs();
    if (nowMs - team.lookedMs >= teamsMs) {
      const teams = listTeams(files, deps.teamsFolder, deps.ownerOf);
      team = { known: teams.find(({ members }) => members.includes(agent.id)) ?? null, lookedMs: nowMs };
    }
    return team.known;
  }

  function groupsOf(ids: readonly string[], period: { since?: string }): LedgerGroup[] {
    return ids.flatMap((id) => {
      if (id === agent.id) return deps.groups(period);
      const path = deps.ledgerOf(id);
      if (path === null || !files.exists(path)) return [];
      return readLedgerGroups(path, period);
    });
  }

  function factsOf(
    of: BudgetState["of"],
    name: string,
    folder: string,
    ids: readonly string[],
  ): BudgetFacts[] {
    const today = `${timestampNow(clock).slice(0, 10)}T00:00:00.000+00:00`;
    return limitsIn(folder).map((limit) => {
      const groups = groupsOf(ids, limit.per === "day" ? { since: today } : {});
      return { of, name, limit, used: usedOf(groups, limit, deps.prices()) };
    });
  }

  /**
   * What cannot be read holds nothing, and the other budget stays: a budget is no reason to lose a night's
   * work.
   */
  function limitsIn(folder: string): readonly BudgetLimit[] {
    try {
      return readBudget(files, folder).limits;
    } catch (error) {
      deps.onError(error);
      return [];
    }
  }

  function look(): void {
    findings.lookedMs = clock.monotonicMs();
    const own = factsOf("agent", agent.name, deps.sessionRoot, [agent.id]);
    const known = ownTeam();
    const all = known ? [...own, ...factsOf("team", known.name, known.folder, known.members)] : own;
    const facts = { nowUtc: timestampNow(clock), advise: deps.advise };
    findings = { ...nextFindings(findings, all, facts), lookedMs: findings.lookedMs };
  }

  function lookIfStale(): void {
    if (clock.monotonicMs() - findings.lookedMs < freshMs) return;
    try {
      look();
    } catch (error) {
      deps.onError(error);
    }
  }

  const loop = createLoop({
    clock,
    async turn() {
      look();
      const { reached } = findings;
      const now = `${reached?.level} ${reached?.detail}`;
      if (now !== published) {
        published = now;
        deps.onChange();
      }
      return reached === null ? null : reachedMs;
    },
    onError: deps.onError,
  });

  return {
    state() {
      lookIfStale();
      return findings.reached;
    },
    holds() {
      lookIfStale();
      const { reached, hasHold } = findings;
      if (reached?.level === "hold") return `${reached.detail}; raise it with: ${reached.command}`;
      return hasHold && deps.counting() ? "the tokens of the last turn are being counted" : null;
    },
    wake() {
      // A request that waits for a count looks again, also when nothing was counted.
      published = null;
      loop.wake();
    },
    start: loop.start,
    stop: loop.stop,
  };
}

/** A fault of a budget, once for each text. */
export function reportOnce(line: (text: string) => void): (error: unknown) => void {
  const logged = new Set<string>();
  return (error) => {
    const text = `budget: ${messageOf(error)}`;
    if (!logged.has(text)) line(text);
    logged.add(text);
  };
}
