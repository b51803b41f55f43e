/** Resolves at a moment the dice choose, within `mostMs` and rather early. For blows that may fall at any time. */
export async function randomMoment(random: () => number, mostMs: number): Promise<void> {
  await Bun.sleep(random() ** 2 * mostMs);
}
