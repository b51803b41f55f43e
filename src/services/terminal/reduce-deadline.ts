import type { TrackingTimings } from "../../protocol/terminal.ts";
import { reportHoldsMs } from "./fusion.ts";
import type { TrackState } from "./reduce-state.ts";
import { growthExpiryMs, neverTypedMs, unmovingMs } from "./reduce-turn.ts";
import { endOfNewest } from "./reported-turns.ts";
import { stillReadingsMs, stillScreenMs } from "./second-witness.ts";
import { parkedAt } from "./usage-limit.ts";

/**
 * Whether samples should go on at `watch_poll_interval_seconds`: a turn runs or is being judged, the visible state
 * has not held long enough, or the last look failed. A settled state waits for a push (ruling 24).
 */
export function isUnsettled(state: TrackState): boolean {
  const { turn, stability, diagnostics } = state;
  if (diagnostics.probe_error !== null) return true;
  if (endOfNewest(state.reports) !== null) return true;
  return turn.phase === "active" || turn.anchor !== null || turn.settle !== null || !stability.held;
}

/**
 * The monotonic moment at which time alone may change the verdict, so that the tracker looks again then; null when
 * only a new screen can. Never before the state's own moment.
 */
export function nextDeadlineMs(state: TrackState, timings: TrackingTimings): number | null {
  const { turn, stability, screen, verdicts, signals } = state;
  const now = state.at.monotonicMs;
  const deadlines: number[] = [];
  const after = (sinceMs: number, seconds: number) => deadlines.push(sinceMs + seconds * 1000);
  if (!stability.held) after(stability.since.monotonicMs, timings.stability_threshold_seconds);
  const end = endOfNewest(state.reports);
  if (end) {
    deadlines.push(end.reachedMs + reportHoldsMs);
    after(Math.max(end.reachedMs, screen.sinceMs), timings.stability_threshold_seconds);
  }
  if (turn.settle) after(turn.settle.sinceMs, timings.completion_stability_seconds);
  const endSinceMs = turn.anchor?.endSinceMs ?? null;
  const idleSinceMs = turn.anchor?.idleSinceMs ?? null;
  if (idleSinceMs !== null) deadlines.push(idleSinceMs + neverTypedMs);
  if (endSinceMs !== null) after(endSinceMs, timings.completion_stability_seconds);
  if (turn.phase === "active" && signals?.title !== "busy") {
    deadlines.push(screen.sinceMs + unmovingMs(state, state.activeReasons, timings));
    if (!turn.anchor) after(verdicts.sinceMs, timings.stale_active_recovery_seconds);
  }
  if (state.unknownSinceMs !== null && turn.anchor) {
    after(state.unknownSinceMs, timings.unknown_to_stalled_timeout_seconds);
  }
  const untilMs = parkedAt(state, state.at) && state.parked?.untilMs;
  if (typeof untilMs === "number") deadlines.push(now + untilMs - state.at.wallMs);
  if (state.secondWitness?.by === null) {
    deadlines.push(screen.sinceMs + stillScreenMs, stability.since.monotonicMs + stillReadingsMs);
  }
  const growth = growthExpiryMs(state.growth, signals, now);
  if (growth !== null) deadlines.push(growth);
  const ahead = deadlines.filter((deadline) => deadline > now);
  return ahead.length > 0 ? Math.min(...ahead) : null;
}
