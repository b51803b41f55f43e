import { type Static, Type } from "@sinclair/typebox";
import { SinceTime } from "./fields.ts";
import { Nullable, Strict } from "./wire.ts";

/** Token counts, as the tools report them. Source: decision 80. */

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const counts = {
  input_tokens: Count("tokens that the model read, its cache included"),
  cached_input_tokens: Count("input tokens read from the cache"),
  cache_write_tokens: Count("input tokens written to the cache"),
  output_tokens: Count("tokens that the model wrote, its reasoning included"),
  reasoning_tokens: Count("output tokens of reasoning; 0 when the tool does not count them separately"),
};

/** Tokens of all models. */
export const Tokens = Strict(counts);
export type Tokens = Static<typeof Tokens>;

/** Tokens of one model. */
export const TokenUsage = Strict(
  {
    model: Nullable(
      Type.String({ description: "name of the model, as the tool reports it; null without one" }),
    ),
    ...counts,
  },
  { description: "tokens of one model, as the tool reports them" },
);
export type TokenUsage = Static<typeof TokenUsage>;

/** Models in one turn at most. */
export const maxTurnModels = 20;

/** Sum of an agent's tokens (additional; decision 77). */
export const TokenSum = Strict(
  {
    since_utc: SinceTime,
    turns: Type.Integer({ minimum: 1, description: "number of counted turns" }),
    ...counts,
  },
  {
    description: "tokens of the turns since since_utc, as the tool reports them; a turn is added at its end",
  },
);
export type TokenSum = Static<typeof TokenSum>;
