/** Whether a version of dotted numbers is older than another. Pure. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (of: string) => of.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [one, other] = [numbers(version), numbers(than)];
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
