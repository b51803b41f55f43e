import { Type } from "@sinclair/typebox";

/** When something shows: one of the three at most; none is every time. Ordinals count from 1. */
export interface Occasion {
  every?: number;
  on?: number[];
  probability?: number;
}

/**
 * Whether the `ordinal`-th (from 1) occasion of `name` is one of the chosen. Random choices depend on seed,
 * name and ordinal alone, so that no behaviour disturbs another and timing changes nothing.
 */
export function isChosen(occasion: Occasion, seed: number, name: string, ordinal: number): boolean {
  if (occasion.every !== undefined) return ordinal % occasion.every === 0;
  if (occasion.on !== undefined) return occasion.on.includes(ordinal);
  if (occasion.probability !== undefined) return randomAt(seed, name, ordinal) < occasion.probability;
  return true;
}

/** A number in [0, 1) that is a pure function of its arguments. */
function randomAt(seed: number, name: string, ordinal: number): number {
  let mixed = seed >>> 0;
  for (const char of `${name}#${ordinal}`) {
    mixed = Math.imul(mixed ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return mulberry32(mixed);
}

/** One step of the mulberry32 generator: public-domain integer mixing, uniform enough for a script. */
function mulberry32(seed: number): number {
  let mixed = (seed + 0x6d2b79f5) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** When a rule applies or a behaviour shows: one of the three. Ordinals count from 1. */
export const occasion = {
  every: Type.Optional(Type.Integer({ minimum: 1, description: "At every n-th occasion" })),
  on: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { description: "At these occasions" })),
  probability: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: "At random, decided by the seed and the ordinal" }),
  ),
};
