/**
 * `--quick`: few rounds and small data, for a first look in a minute; its figures are noise to within a
 * factor of two.
 */
export const quick = process.argv.includes("--quick");

/** The first, or the second of a quick run. */
export function effort<T>(full: T, quickly: T): T {
  return quick ? quickly : full;
}
