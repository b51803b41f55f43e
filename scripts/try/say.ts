/** A line of the story; what it says was checked. */
export function step(text: string): void {
  console.log(`  ok  ${text}`);
}

/** Ends the story unless `holds`, telling what was seen instead. */
export function expect(what: string, seen: unknown, holds: boolean): void {
  if (!holds) throw new Error(`${what} was not as expected: ${JSON.stringify(seen)?.slice(0, 2000)}`);
}
