import type { TerminalState } from "../../src/protocol/terminal.ts";

/** A change of what is known of the agent's turn; `atMs` as `wallMs` gives it. */
export interface Edge {
  kind: "busy" | "ready";
  atMs: number;
}

/** What the other process saw of one turn. */
export interface Witness {
  painted: Record<Edge["kind"], number>;
  polled: Record<Edge["kind"], number>;
}

/** What we tell: busy when the turn is active for a reason on the screen, ready when the terminal is free. */
export function edgeOf(state: TerminalState): Edge["kind"] | null {
  if (state.turn.phase === "active" && (state.active_reasons ?? []).length > 0) return "busy";
  return state.turn.phase === "ready" && state.surface.editing_input === "no" ? "ready" : null;
}
