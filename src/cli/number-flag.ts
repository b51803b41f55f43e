import { UsageError } from "./command.ts";

/** A whole number from `least` to `most` out of a flag's text; undefined stays undefined. Else UsageError. */
export function toWholeNumber(
  name: string,
  text: string | undefined,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^-?\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most}, not "${text}"`);
}
