/**
 * The address that was probably meant: the nearest in spelling, else the only one with the same name before the `@`,
 * or null when none is near. `typed` may lack the `@` and what follows. Pure.
 */
export function nearestAddress(typed: string, addresses: readonly string[]): string | null {
  const name = localPart(typed);
  const namesakes = addresses.filter((address) => localPart(address) === name);
  if (!typed.includes("@") && namesakes.length > 1) return null;
  const compared = typed.includes("@") ? (address: string) => address : localPart;
  const limit = name.length < 2 ? 0 : Math.max(1, Math.floor(name.length / 3));
  const near = addresses
    .map((address) => ({ address, edits: edits(typed.toLowerCase(), compared(address).toLowerCase()) }))
    .filter((one) => one.edits <= limit)
    .sort((left, right) => left.edits - right.edits || (left.address < right.address ? -1 : 1));
  return near[0]?.address ?? (namesakes.length === 1 ? (namesakes[0] ?? null) : null);
}

function localPart(address: string): string {
  return address.split("@", 1)[0] ?? "";
}

/** Characters to insert, delete or replace between `a` and `b`. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line++) {
    const next = [line];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
