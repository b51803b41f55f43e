import type { Command, Flag, Flags, OfferedValues } from "./command.ts";
import { childOf, childrenOf, everywhere, type Station, toStation } from "./parse.ts";

/** One word that would fit. */
export interface Candidate {
  /** The whole word, also where a part of it is typed. */
  value: string;
  description: string;
}

export interface Completion {
  candidates: Candidate[];
  /** What the shell itself is to offer where a path is meant. */
  paths: "files" | "folders" | null;
}

/** `given`: values of the flags that stand on the line, by name. */
export type OfferValues = (
  what: OfferedValues,
  given: Readonly<Record<string, string>>,
) => Promise<Candidate[]>;

const none: Completion = { candidates: [], paths: null };

/**
 * What may stand where `current` is being typed, after the finished `words` (without the program): commands, flags that
 * were not given yet, or values of the flag before. Only what begins as `current` does. A line that is wrong already is
 * completed as far as it can be understood. Asks `offer` only for a value that is wanted.
 */
export async function completeLine(
  root: Command,
  words: readonly string[],
  current: string,
  offer: OfferValues,
): Promise<Completion> {
  const at = await walk(root, words);
  if (at.afterDashes) return { candidates: [], paths: "files" };
  const values = (flag: Flag, typed: string, before = "") =>
    valuesOf(flag, typed, before, (what) => offer(what, Object.fromEntries(at.given)));
  if (at.expects) return values(at.expects, current);
  const equals = current.indexOf("=");
  if (current.startsWith("--") && equals > 0) {
    const flag = at.flags[current.slice(2, equals)];
    if (!flag || flag.type === "boolean" || flag.type === "positional") return none;
    return values(flag, current.slice(equals + 1), current.slice(0, equals + 1));
  }
  const flags = () => fitting(toFlags(at.flags, at.given), current);
  if (current.startsWith("-")) return { candidates: flags(), paths: null };
  const children = (await childrenOf(at.station.command)).filter(({ meta }) => !meta.hidden);
  if (children.length > 0) {
    const commands = children.map(({ word, meta }) => ({ value: word, description: meta.description }));
    return { candidates: fitting(commands, current), paths: null };
  }
  const positional = Object.values(at.station.flags).filter(({ type }) => type === "positional")[
    at.arguments
  ];
  if (positional) return values(positional, current);
  return { candidates: flags(), paths: null };
}

interface Place {
  station: Station;
  flags: Flags;
  /** Values of the flags so far; "" for one that has none. */
  given: ReadonlyMap<string, string>;
  /** The flag whose value is being typed. */
  expects: Flag | null;
  /** Words that are no commands. */
  arguments: number;
  afterDashes: boolean;
}

async function walk(root: Command, words: readonly string[]): Promise<Place> {
  let station = await toStation("", root);
  let flags: Flags = { ...everywhere, ...station.flags };
  const given = new Map<string, string>();
  let expects: [string, Flag] | null = null;
  let count = 0;
  for (const word of words) {
    if (expects) {
      given.set(expects[0], word);
      expects = null;
      continue;
    }
    if (word === "--") return { station, flags, given, expects: null, arguments: count, afterDashes: true };
    if (word.startsWith("-") && word !== "-") {
      const [typed = "", ...value] = word.split("=");
      const known = Object.entries(flags).find(
        ([name, flag]) => typed === `--${name}` || typed === `-${flag.alias}`,
      );
      if (known) given.set(known[0], value.join("="));
      if (known && known[1].type !== "boolean" && typed === word) expects = known;
      continue;
    }
    const child = count === 0 ? await childOf(station.command, word) : null;
    if (child) {
      station = child;
      flags = { ...flags, ...child.flags };
    } else count++;
  }
  return { station, flags, given, expects: expects?.[1] ?? null, arguments: count, afterDashes: false };
}

async function valuesOf(
  flag: Flag,
  current: string,
  before: string,
  offer: (what: OfferedValues) => Promise<Candidate[]>,
): Promise<Completion> {
  if (flag.type === "enum") {
    return { candidates: fitting(flag.options.map(plain), current, before), paths: null };
  }
  if (flag.type === "boolean") return none;
  const { offers, valueHint } = flag;
  if (offers === undefined) {
    const paths = valueHint === "DIR" ? "folders" : valueHint === "FILE" ? "files" : null;
    return { candidates: [], paths };
  }
  return { candidates: fitting(await offer(offers), current, before), paths: null };
}

const plain = (value: string): Candidate => ({ value, description: "" });

function toFlags(flags: Flags, given: ReadonlyMap<string, string>): Candidate[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    const repeatable = flag.type === "string" && flag.multiple;
    if (flag.type === "positional" || flag.hidden || (given.has(name) && !repeatable)) return [];
    return [{ value: `--${name}`, description: flag.description }];
  });
}

/** Each value once, behind what is typed before it. One that no shell could be given on one line is left out. */
function fitting(candidates: readonly Candidate[], current: string, before = ""): Candidate[] {
  const seen = new Set<string>();
  return candidates.flatMap(({ value, description }) => {
    if (!value.startsWith(current) || seen.has(value) || /[\u0000-\u001f\u007f]/.test(value)) return [];
    seen.add(value);
    return [{ value: `${before}${value}`, description }];
  });
}
