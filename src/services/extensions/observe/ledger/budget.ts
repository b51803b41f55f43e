import { dirname, join } from "node:path";
import { Budget, type BudgetLimit, type BudgetState } from "../../../../protocol/budget.ts";
import type { PriceList } from "../../../../protocol/fleet-ledger.ts";
import { parseJson, renderJson } from "../../../../protocol/json.ts";
import type { LedgerGroup } from "../../../../protocol/ledger.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { TeamRecord } from "../../../../protocol/team-file.ts";
import { childPath } from "../../../../system/contained-path.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { teamNameOf } from "../../../sessions/team-record.ts";
import { exactCost, priceOf, toMicroUsd } from "./prices.ts";

/** Whose budget: an agent or a team, and what of it was used. */
export interface BudgetFacts {
  of: BudgetState["of"];
  name: string;
  limit: BudgetLimit;
  used: number;
}

/** The name of the file in the folder of a session and in that of a team. */
export const budgetFile = "budget.json";

/** The first budget that holds, else the first that warns; null while none is reached. Pure. */
export function decideBudget(
  budgets: readonly BudgetFacts[],
): Omit<BudgetState, "since_utc" | "command"> | null {
  const reached = (level: "warn" | "hold") =>
    budgets.find(({ limit, used }) => limit[level] !== null && used >= limit[level]);
  const level = reached("hold") ? "hold" : "warn";
  const budget = reached(level);
  if (!budget) return null;
  const { of, name, limit } = budget;
  return { level, of, name, per: limit.per, detail: describe(budget, level) };
}

function describe({ of, name, limit, used }: BudgetFacts, level: "warn" | "hold"): string {
  const { per, unit } = limit;
  const whose = of === "team" ? `team "${name}"` : `"${name}"`;
  const amounts = `${showAmount(used, unit)} of ${showAmount(limit[level] ?? 0, unit)}`;
  return `${whose} used ${amounts} ${per === "day" ? "today (UTC)" : "in all"}`;
}

/** `12.5M tokens`, `$3.20`. Pure. */
export function showAmount(amount: number, unit: BudgetLimit["unit"]): string {
  if (unit === "micro_usd") return `$${(amount / 1_000_000).toFixed(amount % 10_000 === 0 ? 2 : 4)}`;
  return `${amount} tokens`;
}

/** What these groups used in the unit of a limit; models without a price cost nothing. Pure. */
export function usedOf(groups: readonly LedgerGroup[], { unit }: BudgetLimit, prices: PriceList): number {
  if (unit === "tokens") return groups.reduce((sum, one) => sum + one.input_tokens + one.output_tokens, 0);
  const exact = groups.reduce((sum, one) => {
    const price = priceOf(one.model, prices);
    return price === null ? sum : sum + exactCost(one, price);
  }, 0n);
  return toMicroUsd(exact);
}

/** The limits without those that set nothing, `limit` in the place of the one of its span and unit. Pure. */
export function withLimit(budget: Budget, limit: BudgetLimit): Budget {
  const others = budget.limits.filter((one) => one.per !== limit.per || one.unit !== limit.unit);
  return {
    schema_version: 1,
    limits: [...others, limit].filter((one) => one.warn !== null || one.hold !== null),
  };
}

const noBudget: Budget = { schema_version: 1, limits: [] };

/** The budget in a folder. Throws `precondition_failed` for a damaged file. */
export function readBudget(files: Pick<Files, "exists" | "read">, folder: string): Budget {
  const path = join(folder, budgetFile);
  if (!files.exists(path)) return noBudget;
  const budget = parseJson(Budget, files.read(path));
  if (budget) return budget;
  throw new ServiceError("precondition_failed", `${path} is no budget: set it again, or remove the file`, {
    data: { remedy: { code: "set_budget" } satisfies Remedy },
  });
}

/** An empty one removes the file. */
export function writeBudget(files: Files, folder: string, budget: Budget): void {
  const path = join(folder, budgetFile);
  if (budget.limits.length === 0) {
    if (files.exists(path)) files.removeFile("file:budget", path);
  } else files.write("file:budget", path, renderJson(budget));
}

/** A team that `up` launched. */
export interface KnownTeam {
  /** That of the folder of its file; the whole path of that folder where several teams have this name. */
  name: string;
  /** The `svc.yaml`. */
  file: string;
  /** Where its budget is. */
  folder: string;
  /** Agent ids. */
  members: string[];
}

/**
 * The teams that `up` launched. `ownerOf`: the team file that owns an agent now, by its id: another team, or
 * a person, may have launched an agent of this id since. An `up` of an earlier version recorded no owner: its
 * agents are of the team while no other one owns them.
 */
export function listTeams(
  files: Pick<Files, "list" | "read">,
  teamsFolder: string,
  ownerOf: (agentId: string) => string | undefined,
): KnownTeam[] {
  const teams = files.list(teamsFolder).flatMap((entry) => {
    const folder = childPath(teamsFolder, entry);
    const record = parseJson(TeamRecord, files.read(join(folder, "agents.json")));
    if (!record) return [];
    const { team_file: file, agents } = record;
    const members = Object.values(agents)
      .filter(({ agent_id: id, owned }) => ownerOf(id) === file || (!owned && ownerOf(id) === undefined))
      .map(({ agent_id }) => agent_id);
    return [{ name: teamNameOf(file), file, folder, members }];
  });
  const isShared = (name: string) => teams.filter((one) => one.name === name).length > 1;
  return teams.map((team) => (isShared(team.name) ? { ...team, name: dirname(team.file) } : team));
}
