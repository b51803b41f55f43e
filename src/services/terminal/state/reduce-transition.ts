import type { TerminalState, TrackingTimings, Transition } from "../../../protocol/terminal.ts";
import { toTimestamp } from "../../../system/clock.ts";
import { parkedAt } from "../detect/usage-limit.ts";
import { reportedTurn, reportHoldsMs, stillReadingsMs, stillScreenMs } from "./fusion.ts";
import type { TrackState } from "./reduce-state.ts";
import { growthExpiryMs, neverTypedMs, unmovingMs, unseenTurnMs } from "./reduce-turn.ts";
import { endOfNewest } from "./reported-turns.ts";

/** The facts whose change is a transition, in the order of the report. Text alone is none. */
function reportedFacts(state: TrackState): Record<string, string> {
  const parked = parkedAt(state, state.at);
  const { diagnostics, surface, turn, parsedSurface, signals } = state;
  return {
    "diagnostics.availability": diagnostics.availability,
    "diagnostics.transport_state": diagnostics.transport_state,
    "diagnostics.process_state": diagnostics.process_state,
    "diagnostics.parse_status": diagnostics.parse_status,
    "diagnostics.probe_error": diagnostics.probe_error?.message ?? "none",
    "diagnostics.parse_error": diagnostics.parse_error?.message ?? "none",
    "surface.accepting_input": surface.accepting_input,
    "surface.editing_input": surface.editing_input,
    "surface.ready_posture": surface.ready_posture,
    "surface.pending_input": surface.pending_input,
    "turn.phase": turn.phase,
    "last_turn.result": turn.lastTurn.result,
    "last_turn.source": turn.lastTurn.source,
    chat_context: signals?.chatContext ?? "unknown",
    chat_context_diagnostic: signals?.chatContextDiagnostic?.degraded_error_type ?? "none",
    "parsed_surface.business_state": parsedSurface?.business_state ?? "none",
    "parsed_surface.input_mode": parsedSurface?.input_mode ?? "none",
    "parsed_surface.ui_context": parsedSurface?.ui_context ?? "none",
    parked_until: parked ? (parked.until ?? "no time shown") : "none",
  };
}

/** Null when nothing that counts has changed. Source: spec/terminal.md 1. */
export function transitionBetween(before: TrackState, after: TrackState): Transition | null {
  const old = reportedFacts(before);
  const changed = Object.entries(reportedFacts(after)).filter(([field, value]) => old[field] !== value);
  if (changed.length === 0) return null;
  return {
    recorded_at_utc: toTimestamp(after.at.wallMs),
    summary: changed.map(([field, value]) => `${field}: ${old[field]} -> ${value}`).join("; "),
    changed_fields: changed.map(([field]) => field),
    diagnostics_availability: after.diagnostics.availability,
    surface_pending_input: after.surface.pending_input,
    turn_phase: after.turn.phase,
    last_turn_result: after.turn.lastTurn.result,
    last_turn_source: after.turn.lastTurn.source,
    transport_state: after.diagnostics.transport_state,
    process_state: after.diagnostics.process_state,
    parse_status: after.diagnostics.parse_status,
  };
}

/**
 * The transitions that `now` holds and `before` did not, oldest first, as fields of a `terminal_state` event.
 * Both keep the newest few; what both hold is the same text.
 */
export function newTransitions(before: TerminalState, now: TerminalState): Record<string, unknown>[] {
  const last = before.recent_transitions.at(-1);
  const known = last ? now.recent_transitions.findLastIndex((one) => isSame(one, last)) : -1;
  return now.recent_transitions.slice(known + 1).map((transition) => ({
    recorded_at_utc: transition.recorded_at_utc,
    summary: transition.summary,
    changed_fields: transition.changed_fields,
    turn_phase: transition.turn_phase,
    surface_pending_input: transition.surface_pending_input,
    last_turn_result: transition.last_turn_result,
    availability: transition.diagnostics_availability,
    ready_posture: now.surface.ready_posture,
    awaiting_decision: now.awaiting_decision?.kind ?? null,
    ...(now.parked ? { parked: now.parked } : {}),
  }));
}

function isSame(one: Transition, other: Transition): boolean {
  return one === other || (one.recorded_at_utc === other.recorded_at_utc && one.summary === other.summary);
}

/**
 * Whether samples should go on at `watch_poll_interval_seconds`: a turn runs or is being judged, the visible
 * state has not held long enough, or the last look failed. A settled state waits for a push (ruling 24).
 */
export function isUnsettled(state: TrackState): boolean {
  const { turn, stability, diagnostics } = state;
  if (diagnostics.probe_error !== null) return true;
  if (endOfNewest(state.reports) !== null) return true;
  return turn.phase === "active" || turn.anchor !== null || turn.settle !== null || !stability.held;
}

/**
 * The monotonic moment at which time alone may change the verdict, so that the tracker looks again then; null
 * when only a new screen can. Never before the state's own moment.
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
    if (state.activeReasons.includes(reportedTurn)) deadlines.push(verdicts.sinceMs + unseenTurnMs(timings));
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
