import type { Transition } from "../../protocol/terminal.ts";
import { toTimestamp } from "../../system/clock.ts";
import { parkedAt } from "./reduce-parked.ts";
import type { TrackState } from "./reduce-state.ts";

/** The facts whose change is a transition, in the order they are told. Text alone is none. */
function told(state: TrackState): Record<string, string> {
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
  const old = told(before);
  const changed = Object.entries(told(after)).filter(([field, value]) => old[field] !== value);
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
