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
  let reached: BudgetState | null = null;
  let hasHold = false;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let team: KnownTeam | null = null;
  let teamLookedMs = Number.NEGATIVE_INFINITY;
  let reported: string | null = null;

  function ownTeam(): KnownTeam | null {
    const nowMs = clock.monotonicMs();
    if (nowMs - teamLookedMs >= teamsMs) {
      team =
        listTeams(files, deps.teamsFolder, deps.ownerOf).find(({ members }) => members.includes(agent.id)) ??
        null;
      teamLookedMs = nowMs;
    }
    return team;
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
    lookedMs = clock.monotonicMs();
    const own = factsOf("agent", agent.name, deps.sessionRoot, [agent.id]);
    const known = ownTeam();
    const all = known ? [...own, ...factsOf("team", known.name, known.folder, known.members)] : own;
    hasHold = all.some(({ limit }) => limit.hold !== null);
    const next = decideBudget(all);
    if (next?.level === reached?.level && next?.detail === reached?.detail) return;
    const isSame = next !== null && next.level === reached?.level && next.of === reached.of;
    const since_utc = isSame && reached ? reached.since_utc : timestampNow(clock);
    reached = next && { ...next, since_utc, command: deps.advise(budgetRemedy(next)).command ?? "" };
  }

  function lookIfStale(): void {
    if (clock.monotonicMs() - lookedMs < freshMs) return;
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
      const now = `${reached?.level} ${reached?.detail}`;
      if (now !== reported) {
        reported = now;
        deps.onChange();
      }
      return reached === null ? null : reachedMs;
    },
    onError: deps.onError,
  });

  return {
    state() {
      lookIfStale();
      return reached;
    },
    holds() {
      lookIfStale();
      if (reached?.level === "hold") return `${reached.detail}; raise it with: ${reached.command}`;
      return hasHold && deps.counting() ? "the tokens of the last turn are being counted" : null;
    },
    wake() {
      // A request that waits for a count looks again, also when nothing was counted.
      reported = null;
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
