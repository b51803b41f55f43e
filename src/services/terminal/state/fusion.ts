import type { SecondWitness } from "../../../protocol/terminal.ts";
import type { Signals } from "../detect/signals.ts";
import type { ReportedEnd } from "./reported-turns.ts";

/** What both witnesses say at one moment. */
interface FusionFacts {
  /** The tool's report of the end of the newest turn; null while there is none. */
  end: ReportedEnd | null;
  /** Since it came. */
  endAgeMs: number;
  /** tmux, process and parser are all there. */
  usable: boolean;
  signals: Signals | null;
  /** How long the screen with its title has not changed. */
  screenHeldMs: number;
  /** How long a screen that says busy must be still to be a left-over of the turn. */
  leftoverMs: number;
}

export type FusedEnd =
  /** The screen alone decides, by its own timings. */
  | { by: "screen" }
  /**
   * The turn was reported to be over and the screen contradicts. `givenUp`: for so long that the report
   * counts no more.
   */
  | { by: "neither"; because: string; givenUp: boolean }
  /**
   * The turn is over and the agent is ready. `leftover`: what the screen still says of work is of that turn.
   * Result `unproved`: a closing row on the screen must say that it succeeded.
   */
  | { by: "tool"; result: "success" | "known_failure" | "none" | "unproved"; leftover: boolean };

/** A screen that has not followed a reported end by now speaks of another turn. */
export const reportHoldsMs = 3000;

/**
 * Whether the newest turn is over, by the tool's report and the screen. The first that holds decides:
 * 1. no reported end, or a screen that cannot be read: the screen alone, with its own timings;
 * 2. the screen contradicts (`contradictionOf`): not over, and after `reportHoldsMs` the report counts no
 *   more;
 * 3. a failure that the screen shows or the tool reports: over, failed, and ready at once;
 * 4. an error on the screen that is no failure, or a usage limit: over without a result, and ready at once;
 * 5. a tool that closes a turn that succeeded with a row (opencode reports the end of a turn whose question
 *   was refused,
 *    too), and no such row: over and ready at once, and the screen decides the result;
 * 6. over with success, and ready at once (ruling 27).
 * Pure.
 */
export function fuseEnd(facts: FusionFacts): FusedEnd {
  const { end, endAgeMs, signals, usable, leftoverMs } = facts;
  if (end === null || !usable || signals === null) return { by: "screen" };
  const stillMs = Math.min(facts.screenHeldMs, endAgeMs);
  const because = contradictionOf(signals, stillMs >= leftoverMs);
  if (because !== null) return { by: "neither", because, givenUp: endAgeMs >= reportHoldsMs };
  const failed = end.result === "failed" || signals.knownFailure;
  const result = failed ? "known_failure" : signals.successBlocked ? "none" : provenSuccess(signals);
  return { by: "tool", result, leftover: signals.activeReasons.length > 0 };
}

/** A screen that says work shows no row of its end yet. */
function provenSuccess(signals: Signals): "success" | "unproved" {
  const atRest = signals.surface.ready_posture === "yes";
  return atRest && !signals.successCandidate ? "unproved" : "success";
}

/**
 * What on the screen contradicts an agent that reported to be done, or null. `still`: the screen has not
 * changed for so long that its signs of work are left over. In this order: a question; a composer that is not
 * seen whole, or in which text is no prompt; a draft; input that the tool holds behind its turn, and goes on
 * with by itself; an interrupted turn, whose end the tool need not report; work on a screen that moves;
 * anything else that is not ready. Pure.
 */
export function contradictionOf(signals: Signals, still: boolean): string | null {
  const { surface, activeReasons } = signals;
  if (signals.awaitingDecision) return "a question is on the screen";
  if (!signals.promptVisible) return "the composer is not seen whole";
  if (signals.composerMode !== "prompt") return `the composer is in ${signals.composerMode} mode`;
  if (surface.editing_input !== "no") return "the composer holds a draft";
  if (surface.pending_input !== "no") return "the tool holds submitted input";
  if (signals.interrupted) return "the screen shows an interrupted turn";
  if (activeReasons.length > 0) return still ? null : `the screen shows work: ${activeReasons.join(", ")}`;
  return surface.ready_posture === "yes" ? null : signals.surfaceReasons.ready_posture;
}

/** The reason why an agent whose screen shows no work counts as working. */
export const reportedTurn = "reported_turn";

/**
 * Whether a screen without a sign of work leaves room for the turn that the tool reported to have begun.
 * Signs of work are settings of a tool: vim mode of claude 2.1.331 takes the place of `esc to interrupt`, its
 * title can be switched off, and its prompt scrolls away. A tool that closes each turn with a row shows that
 * row, an interruption or an error when it is over. Pure.
 */
export function leavesRoomForTurn(signals: Signals): boolean {
  const { surface, activeReasons, endsAreMarked, completionMarker, title } = signals;
  // Its end was not reported: an interrupt before the first word, or a prompt that a hook of the user refused.
  if (title === "idle") return false;
  if (!signals.promptVisible || signals.composerMode !== "prompt" || !endsAreMarked) return false;
  if (activeReasons.length > 0 || surface.editing_input !== "no" || completionMarker !== null) return false;
  return !signals.successBlocked;
}

/** What the agent shows and reports at one moment. */
export interface WitnessFacts {
  /** The version that the tool shows, when its profile was not proved on it; null otherwise. */
  unprovedVersion: string | null;
  /** The first witness: the prompt-ready predicate holds. */
  screenReady: boolean;
  /**
   * What the tool itself reported last: that its turn ended or its session began; null when nothing or
   * another thing.
   */
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
 * The second witness that a version asks for that its profile was not proved on; null when none is asked for.
 * The first that holds decides:
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
