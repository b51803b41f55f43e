import type { TerminalState } from "../../protocol/terminal.ts";

/** Whether a tool may take the text for one of its commands rather than for the model. */
export function isCommand(text: string): boolean {
  return /^\/\S/.test(text);
}

export function hasDraft(state: TerminalState): boolean {
  return state.surface.editing_input === "yes";
}

/**
 * The mode of the composer in which its text is not a prompt (`shell`, `memory`, `help`), or null. What is
 * submitted there may run as a command.
 */
export function closedMode(state: TerminalState): string | null {
  const parsed = state.parsed_surface;
  if (parsed?.input_mode !== "closed") return null;
  return parsed.ui_context.replace(/_mode$/, "").replaceAll("_", " ");
}

export function isWorking(state: TerminalState): boolean {
  return (state.active_reasons ?? []).length > 0;
}

/** What the tool itself reported of a text that was typed. */
type TypedReport = "exact" | "other" | null;

/**
 * Whether `state` proves that the tool took the text; `before`: the state before it was typed; `echo`: the composer
 * showed it.
 */
export function wasTaken(facts: {
  before: TerminalState;
  echo: boolean;
  state: TerminalState;
  report: TypedReport;
}): boolean {
  const { before, echo, state } = facts;
  if (facts.report === "exact") return true;
  // `/exit` and its kin end the tool itself.
  if (hasEnded(state)) return true;
  if (state.awaiting_decision || (!isWorking(before) && isWorking(state) && !hasDraft(state))) return true;
  if (before.surface.pending_input === "no" && state.surface.pending_input === "yes") return true;
  if (echo) return state.surface.editing_input === "no";
  return !hasDraft(state) && projectionOf(state) !== projectionOf(before);
}

/** What stands in the pane is not the tool. */
export function hasEnded(state: TerminalState): boolean {
  return state.diagnostics.process_state === "tui_down";
}

/** Whether a question that was not there before is on the screen. */
export function cameUp(before: TerminalState, state: TerminalState): boolean {
  return before.awaiting_decision === undefined && state.awaiting_decision !== undefined;
}

/** In words, what was the proof. */
export function describeProof({ state, report }: { state: TerminalState; report: TypedReport }): string {
  if (report === "exact") return "the tool reported exactly this text";
  if (hasEnded(state)) return "the tool ended";
  if (state.awaiting_decision) return "the tool asks a question";
  if (state.surface.pending_input === "yes") return "the tool holds the text behind its turn";
  if (isWorking(state)) return "the tool works";
  return "the composer is empty again";
}

export function projectionOf(state: TerminalState): string | null {
  return state.parsed_surface?.normalized_projection_text ?? null;
}
