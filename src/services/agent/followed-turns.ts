import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";
import type { ExclusivePane } from "../terminal/tmux/exclusive-pane.ts";
import type { Submission } from "./agent.ts";
import { mayBeHandedBack, submitAgain } from "./dispatch.ts";
import { describeAlong } from "./submission.ts";
import type { TerminalView } from "./terminal-view.ts";

type OnEvidence = Submission["onEvidence"];

interface FollowedTurn {
  watch: TurnWatch;
  /** Null once the tool took the prompt or the prompt was given up. */
  asked: Asked | null;
  /** The text that a person added to the prompt; called until it returns one. */
  along?: (() => string | null) | undefined;
  /** Whether the prompt is being submitted again. */
  busy: boolean;
}

export function createFollowedTurns(deps: {
  view: TerminalView;
  exclusivePane: ExclusivePane;
  clock: Clock;
  log: Log;
  profile: CompiledProfile | null;
  /** Called when a text that was submitted again remains in the composer and could not be cleared. */
  onLeft: (text: string) => void;
}) {
  const { view, exclusivePane, clock, log, profile } = deps;
  const turns = new Map<FollowedTurn, OnEvidence>();

  function look(state: TerminalState): void {
    for (const [turn, onEvidence] of turns) {
      // Before Enter is proved and noted, an idle screen is that of before the turn.
      if (turn.busy) continue;
      watch(turn, onEvidence, state);
      if (turn.asked && mayBeHandedBack(state)) void resubmit(turn, onEvidence);
    }
  }

  function watch(turn: FollowedTurn, onEvidence: OnEvidence, state: TerminalState): void {
    const news = followTurn(turn.watch, state);
    turn.watch = news.watch;
    if (news.watch.started || news.watch.ended) turn.asked = null;
    if (news.watch.ended) turns.delete(turn);
    // The tool's report and its transcript may come after the proof of Enter.
    const words = news.evidence.length > 0 ? turn.along?.() : null;
    if (words != null) turn.along = undefined;
    for (const [at, evidence] of news.evidence.entries()) {
      const proof = words != null && at === 0 ? `${evidence.proof}; ${describeAlong(words)}` : evidence.proof;
      const more = words != null && at === 0 ? { typed_along: words } : {};
      addTimestamps(clock, onEvidence)({ ...evidence, ...more, proof });
    }
  }

  /** Submits a prompt again that a question handed back. A later state tries again when there was none. */
  async function resubmit(turn: FollowedTurn, onEvidence: OnEvidence): Promise<void> {
    if (turn.busy || !profile) return;
    turn.busy = true;
    try {
      await exclusivePane.exclusive(async (pane) => {
        if (!turn.asked) return;
        const prove = addTimestamps(clock, onEvidence);
        const { text, remaining } = turn.asked;
        const outcome = await submitAgain({ view, clock, profile, pane, onEvidence: prove }, text);
        if (!outcome) return;
        turn.asked = null;
        if (outcome.outcome === "failed") {
          turns.delete(turn);
          if (outcome.left) deps.onLeft(text);
          prove({ step: "settled", proof: `handed back after a question: ${outcome.detail}` });
          return;
        }
        view.notePrompt(outcome.note);
        if (outcome.asked && remaining > 1) turn.asked = { text, remaining: remaining - 1 };
      });
    } catch (error) {
      log.line("dispatch fault", { error: messageOf(error) });
    } finally {
      turn.busy = false;
    }
    // Only watches: submitting from here would repeat without end for a draft that is not the prompt.
    if (turns.has(turn)) watch(turn, onEvidence, view.state());
  }

  view.subscribe(look);

  return {
    /**
     * Follows one more turn. `started`: the turn has already run. `asked`: the prompt whose Enter opened a
     * question, for a new submission when the question hands it back; null when the tool took the prompt.
     * `along`: the text that a person added to the prompt.
     */
    follow({
      started,
      asked,
      along,
      onEvidence,
    }: {
      started: boolean;
      asked: Asked | null;
      along?: (() => string | null) | undefined;
      onEvidence: OnEvidence;
    }): void {
      turns.set({ watch: { started, ended: false }, asked, along, busy: false }, onEvidence);
      look(view.state());
    },
    /** Gives up the prompts that wait for their question: they are not submitted again. */
    giveUpQuestions(): void {
      for (const turn of turns.keys()) turn.asked = null;
    },
  };
}

/** Adds the present time to each piece of evidence. */
export function addTimestamps(
  clock: Clock,
  onEvidence: OnEvidence,
): (evidence: Omit<Evidence, "at_utc">) => void {
  return (evidence) => onEvidence({ ...evidence, at_utc: timestampNow(clock) });
}

/** The progress of a submitted prompt, judged by later states. */
interface TurnWatch {
  /** Whether a turn ran since the prompt was submitted. */
  started: boolean;
  ended: boolean;
}

interface TurnNews {
  watch: TurnWatch;
  evidence: Omit<Evidence, "at_utc">[];
}

/**
 * The evidence in `state` about a prompt that was submitted before. A turn has started when the tool shows
 * work. It has ended when the tracker, which reports `active` from the submission on, reports the terminal
 * ready again or records a result. A turn without visible work starts and ends at once. The end of the
 * program ends its turn. A program that cannot be observed proves nothing. Pure.
 */
export function followTurn(watch: TurnWatch, state: TerminalState): TurnNews {
  if (watch.ended) return { watch, evidence: [] };
  if (state.diagnostics.process_state === "tui_down") {
    const proof = "the agent's program has ended";
    return { watch: { ...watch, ended: true }, evidence: [{ step: "turn_ended", proof, agent_ended: true }] };
  }
  const evidence: TurnNews["evidence"] = [];
  const reasons = state.active_reasons ?? [];
  let { started } = watch;
  if (!started && reasons.length > 0) {
    started = true;
    evidence.push({ step: "turn_started", proof: `the screen shows work: ${reasons.join(", ")}` });
  }
  const ended = state.turn.phase === "ready";
  if (ended) {
    const byTool = state.stability.witness === "tool";
    const began = byTool ? "the tool reported its end" : "the transcript changed";
    if (!started) evidence.push({ step: "turn_started", proof: began });
    // The result is known only after the screen has not changed for a while, or from the tool's report.
    const { result } = state.last_turn;
    const ready = byTool ? "the tool reported its end and is ready again" : "ready again";
    evidence.push({ step: "turn_ended", proof: result === "none" ? ready : `${ready}: ${result}` });
  }
  return { watch: { started: started || ended, ended }, evidence };
}

/** A prompt whose Enter opened a question instead of a turn. */
interface Asked {
  /** As it was typed. */
  text: string;
  /** Number of further submissions after a question. */
  remaining: number;
}

/** A tool that asks again after this many submissions will not take the text. */
export const maxQuestions = 3;
