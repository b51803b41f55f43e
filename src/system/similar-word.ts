/** The word of `candidates` nearest to `typed`, or null when none is near. Pure. */
export function suggest(typed: string, candidates: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(typed.length / 3));
  const ranked = candidates
    .map((word) => ({ word, distance: word.startsWith(typed) && typed !== "" ? 0 : distance(typed, word) }))
    .filter((one) => one.distance <= limit)
    .sort((left, right) => left.distance - right.distance || (left.word < right.word ? -1 : 1));
  return ranked[0]?.word ?? null;
}

/** Edits from `a` to `b`: insert, delete, replace, or swap of neighbours. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= a.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const least = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
        swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      rows[row]?.push(least);
    }
  }
  return at(a.length, b.length);
}
