/** Resolves at a moment the dice choose, within `maxMs` and rather early. For blows that may fall at any time. */
export async function randomMoment(random: () => number, maxMs: number): Promise<void> {
  await Bun.sleep(random() ** 2 * maxMs);
}
