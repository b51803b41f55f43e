import type { TerminalState, Transition } from "../../protocol/terminal.ts";

/**
 * The transitions that `now` holds and `before` did not, oldest first, as fields of a `terminal_state` event. Both
 * keep the newest few; what both hold is the same text.
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
