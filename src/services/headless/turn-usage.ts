import { maxTurnModels, type Tokens, type TokenUsage } from "../../protocol/usage.ts";
import { type Fields, fieldsOf, numberOf } from "./json-fields.ts";

/**
 * Tokens of one call of a model. `key`: a later count of the same key takes this one's place, since tools
 * write a message more than once. `model`: null for the model that was named last.
 */
export interface UsageCount {
  key: string;
  model: string | null;
  tokens: Tokens;
}

/** `model`: named before the first count. Pure. */
export function createUsageFold(model: string | null) {
  const counts = new Map<string, UsageCount>();
  let current = model;
  return {
    /** What follows is of this model, unless it names another. */
    useModel(next: string): void {
      current = next;
    },
    add(count: UsageCount): void {
      counts.set(count.key, { ...count, model: count.model ?? current });
    },
    /** One entry for each model, in the order of their first call; empty when nothing was counted. */
    list(): TokenUsage[] {
      const sums = new Map<string | null, TokenUsage>();
      for (const { model: of, tokens } of counts.values()) {
        if (!hasTokens(tokens)) continue;
        const sum = sums.get(of);
        if (sum) Object.assign(sum, addTokens(sum, tokens));
        else if (sums.size < maxTurnModels) sums.set(of, { model: of, ...tokens });
      }
      return [...sums.values()];
    },
  };
}

export const noTokens: Tokens = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
};

/** Pure. */
export function addTokens(left: Tokens, right: Tokens): Tokens {
  return {
    input_tokens: left.input_tokens + right.input_tokens,
    cached_input_tokens: left.cached_input_tokens + right.cached_input_tokens,
    cache_write_tokens: left.cache_write_tokens + right.cache_write_tokens,
    output_tokens: left.output_tokens + right.output_tokens,
    reasoning_tokens: left.reasoning_tokens + right.reasoning_tokens,
  };
}

/** A call that failed, or has not ended, counts nothing. Pure. */
export function hasTokens({ input_tokens, output_tokens }: Tokens): boolean {
  return input_tokens > 0 || output_tokens > 0;
}

/**
 * What `whole` has beyond `part`, never less than nothing: for tools that count from the start of a
 * conversation. Pure.
 */
export function tokensBeyond(whole: Tokens, part: Tokens): Tokens {
  const beyond = (key: keyof Tokens) => Math.max(0, whole[key] - part[key]);
  return {
    input_tokens: beyond("input_tokens"),
    cached_input_tokens: beyond("cached_input_tokens"),
    cache_write_tokens: beyond("cache_write_tokens"),
    output_tokens: beyond("output_tokens"),
    reasoning_tokens: beyond("reasoning_tokens"),
  };
}

/** Of all models together. Pure. */
export function sumOf(usage: readonly TokenUsage[]): Tokens {
  return usage.reduce<Tokens>((sum, one) => addTokens(sum, one), noTokens);
}

const count = (fields: Fields, name: string) => Math.max(0, Math.trunc(numberOf(fields[name]) ?? 0));

/** Claude's `message.usage` and `result.usage`: what the cache took or gave is counted apart. Pure. */
export function claudeTokens(usage: unknown): Tokens {
  const fields = fieldsOf(usage);
  const cached = count(fields, "cache_read_input_tokens");
  const written = count(fields, "cache_creation_input_tokens");
  return {
    input_tokens: count(fields, "input_tokens") + cached + written,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: count(fields, "output_tokens"),
    reasoning_tokens: count(fieldsOf(fields["output_tokens_details"]), "thinking_tokens"),
  };
}

/** Codex's `usage`: parts are counted in the whole. Pure. */
export function codexTokens(usage: unknown): Tokens {
  const fields = fieldsOf(usage);
  return {
    input_tokens: count(fields, "input_tokens"),
    cached_input_tokens: count(fields, "cached_input_tokens"),
    cache_write_tokens: count(fields, "cache_write_input_tokens"),
    output_tokens: count(fields, "output_tokens"),
    reasoning_tokens: count(fields, "reasoning_output_tokens"),
  };
}

/** Gemini's `tokens`: thoughts and what tools put in are counted apart. Pure. */
export function geminiTokens(tokens: unknown): Tokens {
  const fields = fieldsOf(tokens);
  const thoughts = count(fields, "thoughts");
  return {
    input_tokens: count(fields, "input") + count(fields, "tool"),
    cached_input_tokens: count(fields, "cached"),
    cache_write_tokens: 0,
    output_tokens: count(fields, "output") + thoughts,
    reasoning_tokens: thoughts,
  };
}

/** Opencode's `tokens`: cache and reasoning are counted apart. Pure. */
export function opencodeTokens(tokens: unknown): Tokens {
  const fields = fieldsOf(tokens);
  const cache = fieldsOf(fields["cache"]);
  const [cached, written] = [count(cache, "read"), count(cache, "write")];
  const reasoning = count(fields, "reasoning");
  return {
    input_tokens: count(fields, "input") + cached + written,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: count(fields, "output") + reasoning,
    reasoning_tokens: reasoning,
  };
}
