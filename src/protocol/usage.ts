import { type Static, Type } from "@sinclair/typebox";
import { SinceTime } from "./fields.ts";
import { Nullable, Strict } from "./wire.ts";

/** What models were asked for, as the tools count it. Source: issue 29. */

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const counts = {
  input_tokens: Count("all that the model read, from its cache too"),
  cached_input_tokens: Count("of these, read from the cache"),
  cache_write_tokens: Count("of these, written to the cache"),
  output_tokens: Count("all that the model wrote, its reasoning too"),
  reasoning_tokens: Count("of these, reasoning; 0 where the tool does not count it apart"),
};

/** Tokens, whatever the model. */
export const Tokens = Strict(counts);
export type Tokens = Static<typeof Tokens>;

/** Tokens of one model. */
export const TokenUsage = Strict(
  {
    model: Nullable(Type.String({ description: "as the tool names it; null where it does not" })),
    ...counts,
  },
  { description: "tokens of one model, as the tool counts them" },
);
export type TokenUsage = Static<typeof TokenUsage>;

/** Models of one turn at most. */
export const maxTurnModels = 20;

/** Tokens of an agent so far (additional; issue 18). */
export const TokenSum = Strict(
  {
    since_utc: SinceTime,
    turns: Type.Integer({ minimum: 1, description: "turns that were counted" }),
    ...counts,
  },
  {
    description:
      "tokens of the turns that began since then, as the tool counts them; a turn is added when it has ended",
  },
);
export type TokenSum = Static<typeof TokenSum>;
