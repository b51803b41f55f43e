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
 * A prompt with the files that a person attached: a tool opens them by itself when the prompt names them. `paths`: one a
 * line; blank lines count for nothing.
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
