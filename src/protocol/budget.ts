import { type Static, Type } from "@sinclair/typebox";
import { SinceTime } from "./fields.ts";
import type { RemedyOf } from "./remedy.ts";
import { Nullable, SchemaVersion1, Strict, StringEnum } from "./wire.ts";

/** Budgets of agents and teams (additional; decision 83). */

const Amount = (description: string) =>
  Nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description }));

export const BudgetLimit = Strict({
  per: StringEnum(["day", "total"], { description: "day: of the turns that began on this day in UTC" }),
  unit: StringEnum(["tokens", "micro_usd"], {
    description: "tokens read and written, or millionths of a dollar",
  }),
  warn: Amount("from this amount on an attention item warns a person"),
  hold: Amount("from this amount on no turn begins"),
});
export type BudgetLimit = Static<typeof BudgetLimit>;

/** budget.json of a session or of a team. */
export const Budget = Strict({
  schema_version: SchemaVersion1,
  limits: Type.Array(BudgetLimit, { maxItems: 4, description: "one for each `per` and `unit` at most" }),
});
export type Budget = Static<typeof Budget>;

export const BudgetState = Strict(
  {
    level: StringEnum(["warn", "hold"], { description: "hold: no turn begins" }),
    of: StringEnum(["agent", "team"], { description: "whose budget it is" }),
    name: Type.Optional(Type.String({ description: "name of the agent or team" })),
    per: Type.Optional(StringEnum(["day", "total"], { description: "the time that the budget covers" })),
    detail: Type.String({ description: "the amount that was used" }),
    command: Type.String({
      description: "the command line that raises the budget; MORE is a placeholder for the new amount",
    }),
    since_utc: SinceTime,
  },
  { description: "a budget that was reached" },
);
export type BudgetState = Static<typeof BudgetState>;

/** The remedy for a reached budget. Gateways of earlier versions send no `name` and no `per`. Pure. */
export function budgetRemedy(reached: Omit<BudgetState, "since_utc" | "command">): RemedyOf<"raise_budget"> {
  const { of, name = "NAME", per = "total", level } = reached;
  return { code: "raise_budget", of, name, per, level };
}
