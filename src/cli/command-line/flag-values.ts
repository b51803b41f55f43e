import { resolve } from "node:path";
import type { Files } from "../../system/files.ts";
import type { InputOptions, InputRead } from "../../system/read-input.ts";
import { type CliIo, UsageError } from "./command.ts";

/** The id that a command line gives: an empty one would name the folder of all in the gateway's address. */
export function readId(given: string | undefined, path: readonly string[]): string {
  const id = given?.trim() ?? "";
  if (id === "") throw new UsageError("<id> is empty", path);
  return id;
}

/** A whole number from `least` to `max` out of a flag's text; undefined stays undefined. Else UsageError. */
export function toWholeNumber(
  name: string,
  text: string | undefined,
  least: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^-?\d+$/.test(text) && value >= least && value <= max) return value;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${max}, not "${text}"`);
}

/** Of a file that a flag names, and of standard input: what a gateway takes in one request. */
export const maxInputBytes = 8 * 1024 * 1024;

const whyNot: Record<Extract<InputRead, { ok: false }>["why"], string> = {
  absent: "is not there",
  folder: "is a folder, not a file: name a file",
  device: "is a device, not a file: name a file",
  unreadable: "may not be read by this user: make it readable, or name another",
  too_large: `is larger than ${maxInputBytes / 1024 / 1024} MiB: give less text`,
  not_text: "is not UTF-8 text: convert it, for example with iconv",
};

/**
 * The text of the file that a flag names, a relative path counted from `cwd`; a pipe such as `<(command)`
 * too. Throws UsageError for one that is not there, that is a folder or a device, that this user may not
 * read, that is larger than 8 MiB or no UTF-8 (unless `lossy`).
 */
export async function readFileFlag(
  flag: string,
  path: string,
  { files, cwd, lossy = false }: { files: Pick<Files, "readInput">; cwd: string; lossy?: boolean },
): Promise<string> {
  const read = await files.readInput(resolve(cwd, path), { maxBytes: maxInputBytes, lossy });
  if (read.ok) return read.text;
  if (read.why === "absent") throw new UsageError(`--${flag}: there is no file ${path}`);
  throw new UsageError(`--${flag}: ${path} ${whyNot[read.why]}`);
}

/** The whole standard input; empty when it is closed. Throws UsageError as `readFileFlag`. */
export async function readStdin(
  io: Pick<CliIo, "readInput">,
  options: Omit<InputOptions, "maxBytes"> = {},
): Promise<string> {
  const read = await io.readInput({ maxBytes: maxInputBytes, ...options });
  if (read.ok) return read.text;
  if (read.why === "absent") return "";
  throw new UsageError(`standard input ${whyNot[read.why]}`);
}

/** The prompt of `--prompt`, else the whole standard input. UsageError when there is none. */
export async function readPrompt(flag: string | undefined, io: CliIo): Promise<string> {
  if (flag === undefined && io.stdinIsTty)
    throw new UsageError("give the prompt with --prompt or on standard input");
  const prompt = flag ?? (await readStdin(io));
  if (prompt.trim() === "")
    throw new UsageError("the prompt is empty; give it with --prompt or on standard input");
  return prompt;
}

/** The words of a positional that takes several. Pure. */
export function wordsOf(text: string | undefined): string[] {
  return text?.split(/\s+/).filter(Boolean) ?? [];
}

/** The seconds of a `--timeout`, at most a week. Throws UsageError. */
export function readTimeout(text: string): number {
  return toWholeNumber("timeout", text, 1, 7 * 86_400) ?? 600;
}

/** A number of seconds from `min` to `max`, fractions allowed. Throws UsageError. */
export function toSeconds(name: string, text: string, min: number, max: number): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= min && seconds <= max) return seconds;
  throw new UsageError(`--${name} must be a number from ${min} to ${max}, not "${text}"`);
}

/** The fields that have a value: an absent flag leaves its field out. */
export function givenFields<T extends object>(
  fields: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
}
