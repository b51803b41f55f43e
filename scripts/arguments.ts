import { type ParseArgsConfig, parseArgs } from "node:util";

// This file runs on a fresh clone: it may import nothing that is not built into Bun.

/** The two kinds of flags that the commands of `bun run` take. */
export const text = { type: "string" } as const;
export const flag = { type: "boolean", default: false } as const;

/**
 * What `read` makes of the arguments of a command of `bun run`, before the command does anything. `--help`
 * prints `usage` and ends the process with 0; an error of `read` is printed with the usage and ends it with
 * 2.
 */
export function readArguments<T>(usage: string, read: (words: string[]) => T): T {
  const words = process.argv.slice(2);
  if (words.includes("--help") || words.includes("-h")) {
    console.log(usage.trim());
    process.exit(0);
  }
  try {
    return read(words);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.error(`${why}\n\n${usage.trim()}`);
    process.exit(2);
  }
}

/** The values of `options`; throws for any other flag and for a word without one. */
export function readFlags<const Options extends NonNullable<ParseArgsConfig["options"]>>(
  args: string[],
  options: Options,
) {
  return parseArgs({ args, options }).values;
}

/** The one word of a command that takes a folder, or null. */
export function readFolder(args: string[]): string | null {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  if (positionals.length > 1) throw new Error(`one folder, not ${positionals.join(" and ")}`);
  return positionals[0] ?? null;
}

/**
 * The whole number of a flag, `otherwise` where it was not given; throws for what is none, or below `least`.
 */
export function wholeNumber(name: string, value: string | undefined, otherwise: number, least = 1): number {
  const number = read(value, otherwise);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`--${name} ${value}: expected a whole number, at least ${least}`);
}

/** The length of time of a flag, which may have a fraction; as `wholeNumber`. */
export function duration(name: string, value: string | undefined, otherwise: number): number {
  const number = read(value, otherwise);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new Error(`--${name} ${value}: expected a number, at least 0`);
}

const read = (value: string | undefined, otherwise: number) =>
  value === undefined ? otherwise : value.trim() === "" ? Number.NaN : Number(value);

/** `--seed`, else another at each run. */
export const seedOf = (value: string | undefined): number =>
  wholeNumber("seed", value, Date.now() % 2 ** 31, 0);

/** What a command without arguments is asked. */
export const takeNothing = (usage: string): void =>
  readArguments(usage, (words) => void readFlags(words, {}));
