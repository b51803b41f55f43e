import { randomFrom } from "../support/load.ts";

/** All chance of a simulated run. The same seed throws the same dice. */
export interface Dice {
  /** From 0 up to, and without, 1. */
  next(): number;
  chance(probability: number): boolean;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  /** Rather often small: the logarithm is what is spread evenly. `least` above 0. */
  skewed(least: number, most: number): number;
  /** Time to the next of events that come `meanMs` apart on average, at least 1. */
  wait(meanMs: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Dice of their own, so that one who throws more often disturbs nobody else. */
  fork(name: string): Dice;
}

export function createDice(seed: number): Dice {
  const next = randomFrom(seed);
  return {
    next,
    chance: (probability) => next() < probability,
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
    skewed: (least, most) => Math.round(least * (most / least) ** next()),
    wait: (meanMs) => Math.max(1, Math.round(-Math.log(1 - next()) * meanMs)),
    pick: (list) => list[Math.floor(next() * list.length)] ?? list[0],
    fork: (name) => createDice(Number(BigInt(Bun.hash(`${seed} ${name}`)) & 0xffffffffn)),
  };
}
