/**
 * Resolves at a moment the dice choose, within `maxMs` and rather early. For faults that may be injected at
 * any time.
 */
export async function randomMoment(random: () => number, maxMs: number): Promise<void> {
  await Bun.sleep(random() ** 2 * maxMs);
}
