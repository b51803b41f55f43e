import { suggest } from "../../system/similar-word.ts";
import { type Command, type CommandMeta, type Flag, type Flags, presetOf, UsageError } from "./command.ts";

/** One command on the way from the root to the one that was named. */
export interface Station {
  /** As typed. */
  word: string;
  command: Command;
  meta: CommandMeta;
  flags: Flags;
}

type FlagValues = Record<string, string | boolean | string[] | undefined>;

export type Parsed =
  | { kind: "help"; chain: Station[] }
  | { kind: "version"; json: boolean }
  | { kind: "run"; chain: Station[]; own: FlagValues; inherited: FlagValues; rest: string[] };

/** Flags that every command has. */
export const everywhere: Flags = {
  help: { type: "boolean", alias: "h", description: "show this help" },
  version: { type: "boolean", description: "show the version" },
  json: { type: "boolean", description: "print one JSON document" },
};

/**
 * Turns the words of a command line into plain data: which command of the tree under `root`, and all flags
 * of it and of the groups above. Strict: an unknown word or flag, a flag twice, a missing or unwanted value
 * throw UsageError, with the nearest known word. Flags of a group may be anywhere after its name.
 */
export async function parseCommandLine(root: Command, argv: readonly string[]): Promise<Parsed> {
  const first = await toStation("", root);
  const chain: Station[] = [{ ...first, word: first.meta.name }];
  const given = new Map<string, (string | boolean)[]>();
  const words: string[] = [];
  let rest: string[] = [];
  let areFlagsOver = false;

  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    const { flags } = chain.at(-1) ?? first;
    if (isText(flags, words.length)) {
      words.push(...argv.slice(word === "--" && !areFlagsOver ? index + 1 : index));
      break;
    }
    if (word === "--" && !areFlagsOver) {
      areFlagsOver = Object.values(flags).some(isVerbatim);
      if (areFlagsOver) continue;
      rest = argv.slice(index + 1);
      break;
    }
    if (word.startsWith("-") && word !== "-" && !areFlagsOver) {
      const { name, flag, value } = readFlag(word, chain);
      if (flag.type === "boolean") {
        remember(given, name, flag, value === null, chain);
      } else {
        const taken = value ?? argv[++index];
        if (taken === undefined || (value === null && isFlag(taken, chain))) {
          throw usage(chain, `--${name} needs a value`);
        }
        remember(given, name, flag, taken, chain);
      }
      continue;
    }
    const next = words.length === 0 ? await descend(chain, word) : null;
    if (next) chain.push(next);
    else words.push(word);
  }

  if (given.has("help")) return { kind: "help", chain };
  if (given.has("version")) return { kind: "version", json: given.has("json") };
  const last = chain.at(-1) ?? first;
  if (!last.command.run) {
    throw usage(chain, `"${wordsOf(chain).join(" ")}" needs a command: ${await commandsOf(last)}`);
  }
  return settle(chain, given, words, rest);
}

const isVerbatim = (flag: Flag | undefined): boolean => flag?.type === "positional" && flag.verbatim === true;

/** Whether the next words are text, after `count` words that are none. Pure. */
export function isText(flags: Flags, count: number): boolean {
  return isVerbatim(Object.values(flags).filter(({ type }) => type === "positional")[count]);
}

/** A command with its lazily given parts at hand. */
export async function toStation(word: string, command: Command): Promise<Station> {
  const meta = (await resolve(command.meta)) as Partial<CommandMeta> | undefined;
  return {
    word,
    command,
    meta: {
      ...meta,
      name: meta?.name ?? word,
      description: meta?.description ?? "",
      examples: meta?.examples ?? [],
    },
    flags: ((await resolve(command.args)) ?? {}) as Flags,
  };
}

/** One command of a group, loaded alone; null when the group has none of that word. */
export async function childOf(command: Command, word: string): Promise<Station | null> {
  const children = await resolve(command.subCommands);
  if (!children || !Object.hasOwn(children, word)) return null;
  return toStation(word, (await resolve(children[word])) as Command);
}

/** The commands of a group by word, loaded. */
export async function childrenOf(command: Command): Promise<Station[]> {
  const children = (await resolve(command.subCommands)) ?? {};
  return Promise.all(
    Object.entries(children).map(async ([word, child]) => toStation(word, (await resolve(child)) as Command)),
  );
}

export function wordsOf(chain: readonly Station[]): string[] {
  return chain.map((station) => station.word);
}

async function resolve<T>(value: T | Promise<T> | (() => T | Promise<T>)): Promise<T> {
  return typeof value === "function" ? (value as () => T | Promise<T>)() : value;
}

async function descend(chain: readonly Station[], word: string): Promise<Station | null> {
  const here = chain.at(-1);
  const children = await resolve(here?.command.subCommands);
  if (!here || !children || Object.keys(children).length === 0) return null;
  const child = await childOf(here.command, word);
  if (child) return child;
  const meant = suggest(word, Object.keys(children));
  const hint = meant ? `did you mean "${meant}"?` : `known are: ${await commandsOf(here)}`;
  throw usage(chain, `unknown command "${word}"; ${hint}`);
}

async function commandsOf({ command }: Station): Promise<string> {
  const children = (await childrenOf(command)).filter(({ meta }) => !meta.hidden);
  return children.map(({ word }) => word).join(", ");
}

/** A known flag where a value should be: the value was forgotten. A real value like it is given with `=`. */
function isFlag(word: string, chain: readonly Station[]): boolean {
  return word.startsWith("--") && Object.hasOwn(flagsOf(chain), word.slice(2));
}

function flagsOf(chain: readonly Station[]): Flags {
  return Object.assign({}, everywhere, ...chain.map((station) => station.flags)) as Flags;
}

function readFlag(
  word: string,
  chain: readonly Station[],
): { name: string; flag: Flag; value: string | null } {
  const options = Object.entries(flagsOf(chain)).filter(([, flag]) => flag.type !== "positional");
  const equals = word.indexOf("=");
  const typed = equals < 0 ? word : word.slice(0, equals);
  const value = equals < 0 ? null : word.slice(equals + 1);
  for (const [name, flag] of options) {
    if (typed !== `--${name}` && typed !== `-${flag.alias}`) continue;
    if (flag.type === "boolean" && value !== null) throw usage(chain, `--${name} takes no value`);
    return { name, flag, value };
  }
  const negated = options.find(([name, flag]) => flag.type === "boolean" && word === `--no-${name}`);
  // Any value marks a negated flag: a boolean one never has any other.
  if (negated) return { name: negated[0], flag: negated[1], value: "no" };
  const visible = options.filter(([, flag]) => !flag.hidden).map(([name]) => `--${name}`);
  const meant = suggest(typed, visible);
  throw usage(chain, `unknown option "${typed}"${meant ? `; did you mean "${meant}"?` : ""}`);
}

function remember(
  given: Map<string, (string | boolean)[]>,
  name: string,
  flag: Flag,
  value: string | boolean,
  chain: readonly Station[],
): void {
  const before = given.get(name) ?? [];
  const repeatable = flag.type === "boolean" || (flag.type === "string" && flag.multiple);
  if (before.length > 0 && !repeatable) throw usage(chain, `--${name} was given twice`);
  if (flag.type === "enum" && !flag.options.includes(String(value))) {
    throw usage(chain, `--${name} must be one of ${flag.options.join(", ")}, not "${value}"`);
  }
  given.set(name, [...before, value]);
}

function settle(
  chain: Station[],
  given: ReadonlyMap<string, (string | boolean)[]>,
  words: string[],
  rest: string[],
): Parsed {
  const leaf = chain.at(-1);
  if (!leaf) throw usage(chain, "no command was given");
  if (rest.length > 0 && leaf.meta.rest === undefined) throw usage(chain, `unexpected "${rest[0]}" after --`);
  const above = flagsOf(chain.slice(0, -1));
  const own: FlagValues = {};
  const inherited: FlagValues = {};
  for (const [name, flag] of Object.entries(above)) inherited[name] = givenValue(name, flag, given, chain);
  for (const [name, flag] of Object.entries(leaf.flags)) {
    if (flag.type !== "positional") {
      own[name] = givenValue(name, flag, given, chain);
      continue;
    }
    const word = flag.many && words.length > 0 ? words.splice(0).join(" ") : words.shift();
    if (word === undefined && flag.required !== false)
      throw usage(chain, `<${name}> is missing: ${flag.description}`);
    own[name] = word;
  }
  const [surplus] = words;
  if (surplus !== undefined) throw usage(chain, `unexpected "${surplus}"`);
  return { kind: "run", chain, own, inherited, rest };
}

function givenValue(
  name: string,
  flag: Flag,
  given: ReadonlyMap<string, (string | boolean)[]>,
  chain: readonly Station[],
): FlagValues[string] {
  const values = given.get(name) ?? [];
  if (flag.type === "boolean") return values.at(-1) === true;
  if (flag.type === "string" && flag.multiple) return values.map(String);
  const value = values[0];
  if (value !== undefined) return String(value);
  const preset = presetOf(flag);
  if (preset === undefined && flag.type !== "positional" && flag.required)
    throw usage(chain, `--${name} is required`);
  return preset;
}

function usage(chain: readonly Station[], message: string): UsageError {
  return new UsageError(message, wordsOf(chain));
}
