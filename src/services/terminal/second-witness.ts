import type { SecondWitness } from "../../protocol/terminal.ts";

/** What the agent shows and reports at one moment. */
export interface WitnessFacts {
  /** The version that the tool shows, when its profile was not proved on it; null otherwise. */
  unprovedVersion: string | null;
  /** The first witness: the prompt-ready predicate holds. */
  screenReady: boolean;
  /** What the tool itself reported last: that its turn ended or its session began; null when nothing or another thing. */
  reportedRest: "turn_ended" | "session_started" | null;
  /** The composer is seen whole, with the cursor where its first character goes. */
  composerProved: boolean;
  /** How long the screen with its title has not changed. */
  screenHeldMs: number;
  /** How long what was read of the screen has not changed. */
  readingsHeldMs: number;
}

/** A screen that does not change for so long does not wait for its next row of work. */
export const stillScreenMs = 5000;
/** Rows that no rule reads may move for ever, such as a clock. */
export const stillReadingsMs = 60_000;

/**
 * The second witness that a version asks for that its profile was not proved on; null when none is asked for. The first
 * that holds decides:
 * 1. a proved version, or a screen that does not read as ready: none;
 * 2. the tool's own report that it is at rest;
 * 3. a screen that does not change for `stillScreenMs`, with the cursor at the start of a whole composer;
 * 4. readings that do not change for `stillReadingsMs`, so that no agent waits for ever.
 * Pure.
 */
export function secondWitness(facts: WitnessFacts): SecondWitness | null {
  const { unprovedVersion: version, reportedRest, composerProved } = facts;
  if (version === null || !facts.screenReady) return null;
  if (reportedRest !== null) return { by: reportedRest, missing: null };
  if (composerProved && facts.screenHeldMs >= stillScreenMs) return { by: "still_screen", missing: null };
  if (facts.readingsHeldMs >= stillReadingsMs) return { by: "still_readings", missing: null };
  const still = composerProved
    ? `its screen has changed within the last ${stillScreenMs / 1000} s`
    : `its cursor is not at the start of its composer (it counts as ready after ${stillReadingsMs / 1000} s)`;
  return {
    by: null,
    missing: `version ${version} is not proved, the tool reported no rest, and ${still}; a prompt with --delivery immediate needs no second witness`,
  };
}
