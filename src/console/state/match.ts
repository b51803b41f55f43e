/** How well a text fits what was typed into the palette or a filter. Pure. */

/**
 * Higher is better, null is no match: every word of `query` occurs, a word at the beginning of a name counts
 * most, letters in order with gaps count least.
 */
export function matchScore(query: string, text: string): number | null {
  const target = text.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = scoreWord(word, target);
    if (found === null) return null;
    score += found;
  }
  return score - target.length / 1000;
}

function scoreWord(word: string, target: string): number | null {
  const at = target.indexOf(word);
  if (at === 0) return 100;
  if (at > 0) return /[\s\-_./:]/.test(target[at - 1] ?? "") ? 80 : 50;
  let from = 0;
  let gaps = 0;
  for (const character of word) {
    const next = target.indexOf(character, from);
    if (next < 0) return null;
    gaps += next - from;
    from = next + 1;
  }
  return Math.max(1, 30 - gaps);
}

/**
 * The entries that match, best first; those of one score keep their order, as all do while nothing is typed.
 */
export function search<T>(
  query: string,
  entries: readonly T[],
  textOf: (entry: T) => string,
  max: number,
): T[] {
  if (query.trim() === "") return entries.slice(0, max);
  return entries
    .flatMap((entry) => {
      const score = matchScore(query, textOf(entry));
      return score === null ? [] : [{ entry, score }];
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, max)
    .map(({ entry }) => entry);
}
