import type { Clock } from "../../system/clock.ts";

/** A look at the terminal that is begun before it is asked for, by a caller that has other work to do meanwhile. */
export interface Glance {
  /** Begins one, unless one is under way or waits to be taken. */
  begin(): void;
  /** What the last one saw may not hold any more. */
  spoil(): void;
  /**
   * Waits for the one that was begun, and forgets it. False when there is none that still counts: it was spoilt, failed, or is
   * too old.
   */
  take(): Promise<boolean>;
}

/** A disk that is slower than this makes a look of its own worth its time. */
const goodForMs = 10;

/** `sample` reads the terminal. */
export function createGlance(deps: { clock: Clock; sample: () => Promise<unknown> }): Glance {
  const { clock, sample } = deps;
  let begun: { atMs: number; seen: Promise<boolean> } | null = null;

  const counts = (one: typeof begun) => one !== null && clock.monotonicMs() - one.atMs <= goodForMs;

  return {
    begin() {
      if (counts(begun)) return;
      const seen = sample().then(
        () => true,
        () => false,
      );
      begun = { atMs: clock.monotonicMs(), seen };
    },
    spoil() {
      begun = null;
    },
    async take() {
      const mine = begun;
      if (mine === null || !counts(mine)) return false;
      const seen = await mine.seen;
      const holds = seen && begun === mine && counts(mine);
      begun = null;
      return holds;
    },
  };
}
