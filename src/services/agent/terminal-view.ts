import type { TerminalExplanation, TerminalHistory, TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";

/** What the terminal agent needs of a tracker. */
export interface TerminalView {
  state(): TerminalState;
  /** As `state` without its durations: the same object until the state changes. */
  judged(): TerminalState;
  /** Reads the terminal now; the state returned is no older than the call, or than a read ahead. */
  look(): Promise<TerminalState>;
  /**
   * Begins a read that the next `look` uses if nothing was written since; it is valid for some milliseconds.
   */
  readAhead(): void;
  /** Called after each new state; `material`: more than the text of the screen differs. */
  subscribe(listener: (state: TerminalState, change: { material: boolean }) => void): () => void;
  /**
   * The content of the composer without glyph and indent: empty without a draft, null when it is not visible
   * as a whole.
   */
  draft(): string | null;
  /** Announces that `text` will be typed as a prompt: later reports of the tool may be about it. */
  promptTyped(text: string, command: boolean): void;
  /** The tool's report since then: it took exactly that text, or another one; null without a report. */
  typedReport(): "exact" | "other" | null;
  /** The text of that other prompt; null without one. */
  otherPrompt(): string | null;
  /** What the screen shows beside the composer's content. */
  shown(): ShownBeside;
  /** Takes note that a prompt was submitted `sinceMs` ago; see the reducer. */
  notePrompt(note: PromptNote): void;
  /** We stopped the running turn and saw it stop; some tools leave no trace of that on the screen. */
  noteInterrupt(): void;
  history(limit: number): TerminalHistory;
  explain(): TerminalExplanation;
  /** Which of the profile's dialogs is on the screen; null when none is. */
  dialogRule(): string | null;
  /** The agent's instance; null while it cannot be read. */
  instanceId(): string | null;
}

export interface ShownBeside {
  /** The first entry of an open completion list; null without a list. */
  offered: string | null;
  /** The newest prompt in the transcript; null when none is in sight. */
  newestPrompt: string | null;
  /** The transcript holds the banner and no turn yet. */
  untouched: boolean;
  /** The cursor is behind all that the composer shows, so that nothing there is a hint of the tool. */
  cursorAtEnd: boolean;
  cursor: { row: number; column: number } | null;
}

export interface PromptNote {
  /** Transcript before the prompt was typed: what changed since then belongs to its turn. */
  baseline: string | null;
  /** The tool has worked since the prompt was submitted. */
  sawActivity: boolean;
  /** The text is one of the tool's own commands, which may begin no turn. */
  command: boolean;
  /** A caller says so; we did not type it. */
  reported?: boolean;
  /** Of a prompt that we did not type. */
  text?: string;
}

/** The outcome of a typed text. */
export type DispatchOutcome =
  /**
   * `asked`: the only proof is a question that came up; the tool may hand the text back once it is answered.
   */
  /**
   * `along`: what a person's keys added to it, as far as the tool has shown or reported it by the time of the
   * call.
   */
  | { outcome: "submitted"; note: PromptNote; asked: boolean; along?: () => string | null }
  /** `disturbed`: only because a person typed at that moment; their words are back, the text is gone. */
  | {
      outcome: "failed";
      typed: boolean;
      detail: string;
      disturbed?: true;
      /** The text could not be cleared, and no words of a person are with it. */
      left?: true;
    };

/**
 * Resolves with the first state, present or future, that satisfies `wanted`; null when none does within
 * `timeoutMs`.
 */
export function awaitState(
  view: Pick<TerminalView, "state" | "subscribe">,
  clock: Clock,
  wanted: (state: TerminalState) => boolean,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<TerminalState | null> {
  const now = view.state();
  if (wanted(now)) return Promise.resolve(now);
  return new Promise((resolve) => {
    const nap = new AbortController();
    const finish = (state: TerminalState | null) => {
      unsubscribe();
      nap.abort();
      signal?.removeEventListener("abort", giveUp);
      resolve(state);
    };
    const giveUp = () => finish(null);
    signal?.addEventListener("abort", giveUp, { once: true });
    const unsubscribe = view.subscribe((state) => {
      if (wanted(state)) finish(state);
    });
    sleep(clock, timeoutMs, nap.signal).then(() => {
      if (!nap.signal.aborted) finish(null);
    });
  });
}

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

/** The tool's own report of a typed text. */
type TypedReport = "exact" | "other" | null;

/**
 * Whether `state` proves that the tool took the text; `before`: the state before it was typed; `echo`: the
 * composer showed it.
 */
export function wasTaken(facts: {
  before: TerminalState;
  echo: boolean;
  state: TerminalState;
  report: TypedReport;
}): boolean {
  const { before, echo, state } = facts;
  if (facts.report === "exact") return true;
  // `/exit` and similar commands end the tool.
  if (hasEnded(state)) return true;
  if (state.awaiting_decision || (!isWorking(before) && isWorking(state) && !hasDraft(state))) return true;
  if (before.surface.pending_input === "no" && state.surface.pending_input === "yes") return true;
  if (echo) return state.surface.editing_input === "no";
  return !hasDraft(state) && projectionOf(state) !== projectionOf(before);
}

/** The pane runs another program than the tool. */
export function hasEnded(state: TerminalState): boolean {
  return state.diagnostics.process_state === "tui_down";
}

/** Whether a question that was not there before is on the screen. */
export function cameUp(before: TerminalState, state: TerminalState): boolean {
  return before.awaiting_decision === undefined && state.awaiting_decision !== undefined;
}

/** Describes the proof. */
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
