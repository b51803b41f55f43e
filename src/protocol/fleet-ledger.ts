import { type Static, Type } from "@sinclair/typebox";
import { moment } from "./enforced.ts";
import { WakeReason } from "./ledger.ts";
import { counts } from "./usage.ts";
import { maxListed, Nullable, SchemaVersion1, Strict, shortList } from "./wire.ts";

/**
 * The ledgers of all agents, summed and priced (additional; decision 80). Money is in millionths of a US
 * dollar.
 */

export const ledgerKeys = ["agent", "team", "host", "day", "model", "wake_reason"] as const;
export type LedgerKey = (typeof ledgerKeys)[number];

const Price = (description: string) =>
  Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000_000,
    description: `millionths of a dollar for a million ${description}`,
  });

export const ModelPrice = Strict({
  model: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      "name of the model as tools report it; a final `*` matches any ending. The longest match applies",
  }),
  input: Price("tokens read, without those of the cache"),
  cached_input: Price("tokens read from the cache"),
  cache_write: Price("tokens written to the cache"),
  output: Price("tokens written, reasoning included"),
  source: Type.Optional(Type.String({ maxLength: 500, description: "source of the price" })),
});
export type ModelPrice = Static<typeof ModelPrice>;

/** prices.json */
export const PriceList = Strict({
  schema_version: SchemaVersion1,
  dated: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "when the prices were looked up" }),
  prices: Type.Array(ModelPrice, { maxItems: 1000 }),
});
export type PriceList = Static<typeof PriceList>;

const sums = {
  turns: Type.Integer({ minimum: 0, description: "a turn of several models counts with its first one" }),
  turns_not_covered: Type.Integer({ minimum: 0, description: "turns without a token count" }),
  ...counts,
  cost_micro_usd: Type.Integer({ minimum: 0, description: "cost of the tokens whose model has a price" }),
  unpriced_tokens: Type.Integer({ minimum: 0, description: "tokens of models without a price" }),
};

export const FleetLedgerRow = Strict(
  {
    agent: Type.Optional(Type.String({ description: "name of the agent, with `@<host>` on another host" })),
    team: Type.Optional(
      Nullable(Type.String({ description: "folder of the agent's svc.yaml; null without one" })),
    ),
    host: Type.Optional(Nullable(Type.String({ description: "name of the host; null: this host" }))),
    day: Type.Optional(Type.String({ description: "day in UTC" })),
    model: Type.Optional(
      Nullable(Type.String({ description: "name of the model; null when the tool names none" })),
    ),
    wake_reason: Type.Optional(WakeReason),
    ...sums,
  },
  { description: "one sum, with the requested keys" },
);
export type FleetLedgerRow = Static<typeof FleetLedgerRow>;

export const FleetLedger = Strict(
  {
    schema_version: SchemaVersion1,
    rows: Type.Array(FleetLedgerRow, {
      maxItems: maxListed,
      description: "the newest day first, then the largest",
    }),
    total: Strict(sums, { description: "the sum of all rows" }),
    prices_dated: Type.String({ description: "when the prices were looked up" }),
    unpriced_models: Type.Array(Type.String(), { ...shortList, description: "models without a price" }),
    not_covered: Type.Array(Type.String(), {
      ...shortList,
      description: "what the agents' tools do not count, one sentence each",
    }),
    not_read: Type.Array(
      Strict({
        agent: Type.String({ description: "name of the agent" }),
        why: Type.String({ description: "reason, one clause" }),
      }),
      { maxItems: maxListed, description: "agents whose ledger could not be read" },
    ),
  },
  { description: "what the turns of all agents used and cost" },
);
export type FleetLedger = Static<typeof FleetLedger>;

const keyNames = ledgerKeys.join("|");

export const FleetLedgerQuery = Strict({
  by: Type.Optional(
    Type.String({
      pattern: `^(?:${keyNames})(?:,(?:${keyNames}))*$`,
      description: `a row for each of these, separated by commas: ${ledgerKeys.join(", ")}; default: agent`,
    }),
  ),
  agent: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: "only this agent: its name or id" }),
  ),
  since: Type.Optional(
    Type.String({
      ...moment,
      description: "only turns that began at or after this time, RFC 3339 with its offset",
    }),
  ),
  until: Type.Optional(Type.String({ ...moment, description: "only turns that began before this time" })),
});
export type FleetLedgerQuery = Static<typeof FleetLedgerQuery>;
