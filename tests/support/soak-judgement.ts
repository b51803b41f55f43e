/** One look: when (ms since the run began), and what was counted, by name. */
export interface Sample {
  atMs: number;
  counts: Readonly<Record<string, number>>;
}

/**
 * How much a count may grow over the second half of a run: a share of its mean there, or so much, whichever
 * is more.
 */
export interface Tolerance {
  share: number;
  absolute: number;
}

export interface Verdict {
  name: string;
  first: number;
  last: number;
  most: number;
  /** By the line of least squares through the second half, over that half. */
  growth: number;
  allowed: number;
  flat: boolean;
}

/**
 * Whether each count that `toleranceOf` knows is flat: the first half is left to warm up, in the second the
 * line of least squares may rise by no more than is tolerated. Falling is flat. Pure.
 */
export function judge(
  samples: readonly Sample[],
  toleranceOf: (name: string) => Tolerance | null,
): Verdict[] {
  const end = samples.at(-1)?.atMs ?? 0;
  const names = new Set(samples.flatMap(({ counts }) => Object.keys(counts)));
  return [...names].sort().flatMap((name) => {
    const tolerance = toleranceOf(name);
    const all = samples.flatMap(({ atMs, counts }) =>
      counts[name] === undefined ? [] : [{ x: atMs, y: counts[name] }],
    );
    const half = all.filter(({ x }) => x >= end / 2);
    if (!tolerance || half.length < 2) return [];
    const mean = half.reduce((sum, { y }) => sum + y, 0) / half.length;
    const growth = slopeOf(half) * ((half.at(-1)?.x ?? 0) - (half[0]?.x ?? 0));
    const allowed = Math.max(tolerance.absolute, tolerance.share * mean);
    return [
      {
        name,
        first: half[0]?.y ?? 0,
        last: half.at(-1)?.y ?? 0,
        most: Math.max(...all.map(({ y }) => y)),
        growth,
        allowed,
        flat: growth <= allowed,
      },
    ];
  });
}

/** Of the line of least squares; 0 when all points lie at one x. */
function slopeOf(points: readonly { x: number; y: number }[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const square = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const product = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  return square === 0 ? 0 : product / square;
}
