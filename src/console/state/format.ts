import type { Tokens } from "../../protocol/usage.ts";

/** Texts of numbers and times. Pure. */

const units: readonly [seconds: number, name: string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** `42 s`, `3 min`, `2 h 5 min`, `4 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  for (const [index, [size, name]] of units.entries()) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / (units[index + 1]?.[0] ?? 60));
    const smaller = units[index + 1]?.[1];
    return rest > 0 && smaller
      ? `${Math.floor(seconds / size)} ${name} ${rest} ${smaller}`
      : `${Math.floor(seconds / size)} ${name}`;
  }
  return `${seconds} s`;
}

/** `just now`, `3 min ago`; a moment ahead is `in 3 min`. */
export function relative(atMs: number, nowMs: number): string {
  const age = nowMs - atMs;
  if (Math.abs(age) < 5_000) return "just now";
  return age > 0 ? `${duration(age)} ago` : `in ${duration(-age)}`;
}

export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`;

/** `950`, `12.3k`, `4.5M`. */
export function brief(number: number): string {
  for (const [size, name] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    // What rounds up to the next size is of it.
    if (number < size * 0.9995) continue;
    const scaled = number / size;
    return `${scaled < 99.95 ? Number(scaled.toFixed(1)) : Math.round(scaled)}${name}`;
  }
  return String(number);
}

/** Of all models of a turn. */
export function sumOf(usage: readonly Tokens[]): Tokens {
  const sum = (name: keyof Tokens) => usage.reduce((total, one) => total + one[name], 0);
  return {
    input_tokens: sum("input_tokens"),
    cached_input_tokens: sum("cached_input_tokens"),
    cache_write_tokens: sum("cache_write_tokens"),
    output_tokens: sum("output_tokens"),
    reasoning_tokens: sum("reasoning_tokens"),
  };
}

/** What a turn or an agent used, in words. */
export const tokensInWords = (tokens: Tokens): string =>
  `${tokens.input_tokens} tokens read, ${tokens.cached_input_tokens} of them from the cache; ${tokens.output_tokens} written`;

export const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

/** The last line with something to see. */
export const lastLine = (text: string): string =>
  text
    .split("\n")
    .findLast((line) => line.trim() !== "")
    ?.trim() ?? "";

/** `needs_you` as `needs you`. */
export const words = (name: string): string => name.replaceAll("_", " ");

/**
 * A prompt with the files that a person attached: a tool opens them by itself when the prompt names them.
 * `paths`: one a line; blank lines count for nothing.
 */
export function withFiles(prompt: string, paths: string): string {
  const files = paths
    .split("\n")
    .map((path) => path.trim())
    .filter((path) => path !== "");
  return files.length === 0
    ? prompt
    : [prompt.trimEnd(), "", "Attached files:", ...files.map((path) => `- ${path}`)].join("\n");
}
