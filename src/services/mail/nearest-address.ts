/**
 * The address that was probably meant: of a name without `@` the one mailbox of that name, else the nearest in
 * spelling, or null when none is near. Pure.
 */
export function nearestAddress(typed: string, addresses: readonly string[]): string | null {
  if (!typed.includes("@")) {
    const named = addresses.filter((address) => address.startsWith(`${typed}@`));
    if (named.length > 0) return named.length === 1 ? (named[0] ?? null) : null;
  }
  const target = typed.includes("@") ? (address: string) => address : localPart;
  const limit = Math.max(1, Math.floor(target(typed).length / 4));
  const near = addresses
    .map((address) => ({ address, edits: edits(typed.toLowerCase(), target(address).toLowerCase()) }))
    .filter((one) => one.edits <= limit)
    .sort((left, right) => left.edits - right.edits || (left.address < right.address ? -1 : 1));
  return near[0]?.address ?? null;
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
