import { type Static, Type } from "@sinclair/typebox";
import { Nullable, Strict } from "./wire.ts";

/** What models were asked for, as the tools count it. Source: issue 29. */

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

/** Tokens of one model. */
export const TokenUsage = Strict(
  {
    model: Nullable(Type.String({ description: "as the tool names it; null where it does not" })),
    input_tokens: Count("all that the model read, from its cache too"),
    cached_input_tokens: Count("of these, read from the cache"),
    cache_write_tokens: Count("of these, written to the cache"),
    output_tokens: Count("all that the model wrote, its reasoning too"),
    reasoning_tokens: Count("of these, reasoning; 0 where the tool does not count it apart"),
  },
  { description: "tokens of one model, as the tool counts them" },
);
export type TokenUsage = Static<typeof TokenUsage>;

/** Models of one turn at most. */
export const maxTurnModels = 20;
