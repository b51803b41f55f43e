import type { TerminalExplanation, TerminalHistory, TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";

/** The tracker, as the terminal agent uses it. */
export interface TerminalView {
  state(): TerminalState;
  /** Like `state` without its durations: the same object until the state changes. */
  judged(): TerminalState;
  /** Reads the terminal now. The returned state is not older than this call or a valid read ahead. */
  look(): Promise<TerminalState>;
  /**
   * Starts a read that the next `look` uses within some milliseconds, if nothing was written since.
   */
  readAhead(): void;
  /** Calls `listener` after each new state. `material`: more than the text of the screen has changed. */
  subscribe(listener: (state: TerminalState, change: { material: boolean }) => void): () => void;
  /**
   * The content of the composer without glyph and indent: empty without a draft, null when it is not visible
   * as a whole.
   */
  draft(): string | null;
  /** Announces that `text` will be typed as a prompt, so that later reports of the tool may be about it. */
  promptTyped(text: string, command: boolean): void;
  /**
   * The tool's report since `promptTyped`: it took exactly that text or another one; null without a report.
   */
  typedReport(): "exact" | "other" | null;
  /** The text of the other prompt that the tool reported; null without one. */
  otherPrompt(): string | null;
  /** Facts of the screen besides the composer's content. */
  shown(): ShownBeside;
  /** Records that a prompt was submitted; see the reducer. */
  notePrompt(note: PromptNote): void;
  /** Records a proved interrupt, which some tools do not show on the screen. */
  noteInterrupt(): void;
  history(limit: number): TerminalHistory;
  explain(): TerminalExplanation;
  /** The id of the profile's dialog on the screen; null without one. */
  dialogRule(): string | null;
  /** The agent's instance; null while it cannot be read. */
  instanceId(): string | null;
}

export interface ShownBeside {
  /** The first entry of an open completion list; null without a list. */
  offered: string | null;
  /** The newest visible prompt in the transcript; null without one. */
  newestPrompt: string | null;
  /** Whether the transcript holds the banner and no turn. */
  untouched: boolean;
  /** Whether the cursor is after the whole content of the composer, which then has no hint of the tool. */
  cursorAtEnd: boolean;
  cursor: { row: number; column: number } | null;
}

export interface PromptNote {
  /** Transcript before the prompt was typed; later changes belong to its turn. */
  baseline: string | null;
  /** Whether the tool has worked since the prompt was submitted. */
  sawActivity: boolean;
  /** Whether the text is a command of the tool, which may begin no turn. */
  command: boolean;
  /** Set when a caller reported the prompt and this gateway did not type it. */
  reported?: boolean;
  /** Text of a reported prompt. */
  text?: string;
}

/** The outcome of a typed text. */
export type DispatchOutcome =
  /**
   * `asked`: the only proof is a new question; the tool may hand the text back after the answer. `along`:
   * returns the text that a person added, as far as the tool has shown or reported it by then.
   */
  | { outcome: "submitted"; note: PromptNote; asked: boolean; along?: () => string | null }
  /** `disturbed`: a person typed at that moment; the person's words are restored and the text is cleared. */
  | {
      outcome: "failed";
      typed: boolean;
      detail: string;
      disturbed?: true;
      /** Set when the text could not be cleared and no words of a person are with it. */
      left?: true;
    };

/**
 * Resolves with the first present or later state that satisfies `wanted`; with null after `timeoutMs`.
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
    const timeout = new AbortController();
    const finish = (state: TerminalState | null) => {
      unsubscribe();
      timeout.abort();
      signal?.removeEventListener("abort", giveUp);
      resolve(state);
    };
    const giveUp = () => finish(null);
    signal?.addEventListener("abort", giveUp, { once: true });
    const unsubscribe = view.subscribe((state) => {
      if (wanted(state)) finish(state);
    });
    sleep(clock, timeoutMs, timeout.signal).then(() => {
      if (!timeout.signal.aborted) finish(null);
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
 * The mode of the composer in which text is not a prompt (`shell`, `memory`, `help`) and may run as a
 * command; null otherwise.
 */
export function closedMode(state: TerminalState): string | null {
  const parsed = state.parsed_surface;
  if (parsed?.input_mode !== "closed") return null;
  return parsed.ui_context.replace(/_mode$/, "").replaceAll("_", " ");
}

export function isWorking(state: TerminalState): boolean {
  return (state.active_reasons ?? []).length > 0;
}

/** The tool's report of a typed text. */
type TypedReport = "exact" | "other" | null;

/**
 * Whether `state` proves that the tool took the text. `before`: the state before the text was typed. `echo`:
 * whether the composer showed the text.
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

/** Whether the pane runs another program than the tool. */
export function hasEnded(state: TerminalState): boolean {
  return state.diagnostics.process_state === "tui_down";
}

/** Whether the screen shows a question and `before` showed none. */
export function cameUp(before: TerminalState, state: TerminalState): boolean {
  return before.awaiting_decision === undefined && state.awaiting_decision !== undefined;
}

/** Describes the proof of `wasTaken`, for people. */
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
