/** What happened in a simulated run, in order. */
export interface Trace {
  /** `who` did or saw `what`; stamped with the simulated time. */
  note(who: string, what: string): void;
  /** Of every line so far: two runs that did the same have the same. */
  hash(): string;
  /** The last lines, oldest first. */
  tail(): string[];
  count(): number;
}

const maxKept = 400;

/** `echo` gets each line at once. */
export function createTrace(options: { nowMs: () => number; echo?: (line: string) => void }): Trace {
  const hasher = new Bun.CryptoHasher("sha256");
  let kept: string[] = [];
  let count = 0;
  return {
    note(who, what) {
      const line = `${(options.nowMs() / 1000).toFixed(3).padStart(10)} ${who.padEnd(10)} ${what}`;
      count += 1;
      hasher.update(line);
      options.echo?.(line);
      kept.push(line);
      if (kept.length > 2 * maxKept) kept = kept.slice(-maxKept);
    },
    hash: () => hasher.copy().digest("hex"),
    tail: () => kept.slice(-maxKept),
    count: () => count,
  };
}
