import type { Candidate, CliIo, Command, Flag, Flags, OfferedValues, ProgramOffers } from "./command.ts";
import { childOf, childrenOf, everywhere, isText, type Station, toStation } from "./parse.ts";

interface Completion {
  candidates: Candidate[];
  /** What the shell itself offers for a path. */
  paths: "files" | "folders" | null;
}

/** `given`: values of the flags on the line, by name. */
type OfferValues = (what: OfferedValues, given: Readonly<Record<string, string>>) => Promise<Candidate[]>;

const none: Completion = { candidates: [], paths: null };

/**
 * The candidates for `current`, which is being typed, after the finished `words` (without the program):
 * commands, flags that were not given yet, or values of the flag before. Only what begins as `current` does.
 * A line that is wrong already is completed as far as it can be understood. Asks `offer` only for a value
 * that is wanted.
 */
export async function completeLine(
  root: Command,
  words: readonly string[],
  current: string,
  offer: OfferValues,
): Promise<Completion> {
  const at = await walk(root, words);
  if (isText(at.station.flags, at.arguments)) return none;
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
  const positional = positionalAt(at.station.flags, at.arguments);
  if (positional) return values(positional, current);
  return { candidates: flags(), paths: null };
}

/** The one that the next word is for, after `count` words; one that takes several takes all that follow. */
function positionalAt(flags: Flags, count: number): Flag | undefined {
  const positionals = Object.values(flags).filter(({ type }) => type === "positional");
  const last = positionals.at(-1);
  return positionals[count] ?? (last?.type === "positional" && last.many ? last : undefined);
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
    if (isText(station.flags, count)) break;
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
  const { offers, valueHint, words } = flag;
  if (words !== undefined) return { candidates: fitting(words.map(plain), current, before), paths: null };
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

/**
 * Each value once, behind what is typed before it. One that no shell could be given on one line is left out.
 */
function fitting(candidates: readonly Candidate[], current: string, before = ""): Candidate[] {
  const seen = new Set<string>();
  return candidates.flatMap(({ value, description }) => {
    if (!value.startsWith(current) || seen.has(value) || /[\u0000-\u001f\u007f]/.test(value)) return [];
    seen.add(value);
    return [{ value: `${before}${value}`, description }];
  });
}

/**
 * A command line as a person has typed it so far, taken apart as a shell would, without expanding anything.
 */
interface TypedLine {
  /** Finished words, the program first. */
  words: string[];
  /** What is being typed, without its quotes; "" after a blank. */
  current: string;
}

/** Quotes and backslashes as POSIX shells read them; an open quote runs to the end. Pure. */
export function splitTypedLine(line: string): TypedLine {
  const words: string[] = [];
  let current: string | null = null;
  let quote = "";
  for (let index = 0; index < line.length; index++) {
    const character = line.charAt(index);
    const next = line.charAt(index + 1);
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && /["\\$`]/.test(next)) {
        current = `${current ?? ""}${next}`;
        index++;
      } else current = `${current ?? ""}${character}`;
    } else if (character === "'" || character === '"') {
      quote = character;
      current ??= "";
    } else if (character === "\\") {
      current = `${current ?? ""}${next}`;
      index++;
    } else if (/\s/.test(character)) {
      if (current !== null) words.push(current);
      current = null;
    } else current = `${current ?? ""}${character}`;
  }
  return { words, current: current ?? "" };
}

/**
 * `complete -- WORDS CURRENT` and `complete --line LINE`, by which the completion scripts ask. Writes the
 * answer that `completionScript` describes. Whatever goes wrong offers nothing: a shell at its prompt is no
 * place for an error.
 */
export async function answerShell(
  root: Command,
  argv: readonly string[],
  io: CliIo,
  offers: ProgramOffers | undefined,
): Promise<number> {
  const { words, current } = readQuestion(argv);
  try {
    const { candidates, paths } = await completeLine(root, words, current, async (what, given) => {
      const { liveValues } = await import("./completion-values.ts");
      return liveValues(io, what, given, offers);
    });
    const lines = candidates.map(({ value, description }) => `${value}\t${description}\n`);
    await io.writeOut(`${lines.join("")}:${paths ?? "none"}\n`);
  } catch {
    await io.writeOut(":none\n").catch(() => {});
  }
  return 0;
}

/** The first finished word of the line that a shell asks about; "" for none. Pure. */
export const firstWordAsked = (argv: readonly string[]): string => readQuestion(argv).words[0] ?? "";

function readQuestion(argv: readonly string[]): { words: readonly string[]; current: string } {
  const [form, ...rest] = argv;
  if (form === "--line") {
    const { words, current } = splitTypedLine(rest[0] ?? "");
    return { words: words.slice(1), current };
  }
  return { words: rest.slice(0, -1), current: rest.at(-1) ?? "" };
}
