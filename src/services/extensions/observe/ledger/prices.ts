import { type ModelPrice, PriceList } from "../../../../protocol/fleet-ledger.ts";
import { parseJson } from "../../../../protocol/json.ts";
import type { Tokens } from "../../../../protocol/usage.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import shipped from "./prices.json" with { type: "json" };

/**
 * The prices of the user's file, which replace the shipped ones as a whole. Throws `precondition_failed` for
 * a damaged one.
 */
export function readPrices(files: Pick<Files, "exists" | "read">, path: string): PriceList {
  if (!files.exists(path)) return shipped as PriceList;
  const own = parseJson(PriceList, files.read(path));
  if (own) return own;
  throw new ServiceError(
    "precondition_failed",
    `${path} is no price list, or not a file of this user alone: {"schema_version": 1, "dated": "2026-11-25", "prices": [...]}`,
  );
}

/** The price of the longest name that fits; null for a model without one. Pure. */
export function priceOf(model: string | null, { prices }: PriceList): ModelPrice | null {
  if (model === null) return null;
  const fits = ({ model: name }: ModelPrice) =>
    name.endsWith("*") ? model.startsWith(name.slice(0, -1)) : name === model;
  return prices
    .filter(fits)
    .reduce<ModelPrice | null>(
      (best, one) => (best && best.model.length >= one.model.length ? best : one),
      null,
    );
}

/** In millionths of a millionth of a dollar, so that nothing is lost before all is added. Pure. */
export function exactCost(tokens: Tokens, price: ModelPrice): bigint {
  const fresh = Math.max(0, tokens.input_tokens - tokens.cached_input_tokens - tokens.cache_write_tokens);
  const part = (count: number, perMillion: number) => BigInt(count) * BigInt(perMillion);
  return (
    part(fresh, price.input) +
    part(tokens.cached_input_tokens, price.cached_input) +
    part(tokens.cache_write_tokens, price.cache_write) +
    part(tokens.output_tokens, price.output)
  );
}

/** To the nearest millionth of a dollar. Pure. */
export function toMicroUsd(exact: bigint): number {
  return Number((exact + 500_000n) / 1_000_000n);
}
