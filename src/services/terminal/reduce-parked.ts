import type { Parked } from "../../protocol/terminal.ts";
import { toTimestamp } from "../../system/clock.ts";
import type { Signals } from "./detect/signals.ts";
import type { Moment, ParkedState, TrackState } from "./reduce-state.ts";
import { parseResetTime } from "./reset-time.ts";

/** A notice that was seen to appear may show a minute that has just begun. */
const justNowMs = 10 * 60_000;
/** One of unknown age, such as the first thing a new gateway sees, may be as old as this. */
const oldMs = 12 * 3_600_000;
/** How long to wait when a limit is shown again after the time it named. */
const againMs = 5 * 60_000;

/**
 * The limit after one more look. Its time is read once, when the notice appears: the same words would name
 * another moment each day. `before`: the signals of the look before this one. Source: issue 4, usage limit.
 */
export function nextParked(
  held: ParkedState | null,
  look: { before: Signals | null; signals: Signals | null; turnRuns: boolean; at: Moment },
): ParkedState | null {
  const { signals, at } = look;
  if (look.turnRuns) return held && { ...held, shown: false, ranSince: true };
  // A dialog hides the transcript; it does not take a notice away.
  if (!signals?.promptVisible) return held;
  const seen = signals.parked;
  if (!seen) return held && { ...held, shown: false };
  const known = held?.notice === seen.notice;
  if (known && !held.ranSince) return { ...held, shown: true };
  const fresh = { notice: seen.notice, shown: true, ranSince: false };
  if (seen.shownTime === null) return { ...fresh, untilMs: null };
  if (known && held.untilMs !== null && held.untilMs > at.wallMs) return { ...fresh, untilMs: held.untilMs };
  const appeared = look.before?.promptVisible === true && !known;
  const untilMs = parseResetTime({
    text: seen.shownTime,
    nowMs: at.wallMs,
    zone: null,
    backMs: appeared ? justNowMs : oldMs,
  });
  const again = known && untilMs !== null && untilMs <= at.wallMs;
  return { ...fresh, untilMs: again ? at.wallMs + againMs : untilMs };
}

/**
 * What is told of it at `at`: null once its time has come, its notice has gone, a turn runs or the tool is not
 * there. Pure.
 */
export function parkedAt({ parked, turn, signals }: TrackState, at: Moment): Parked | null {
  if (!parked?.shown || turn.phase === "active" || signals?.parseStatus !== "parsed") return null;
  const { notice, untilMs } = parked;
  if (untilMs !== null && untilMs <= at.wallMs) return null;
  return { notice, until: untilMs === null ? null : toTimestamp(untilMs) };
}
