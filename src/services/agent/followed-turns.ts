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

interface Followed {
  watch: TurnWatch;
  /** Null once the prompt was seen to be taken, or given up. */
  asked: Asked | null;
  /** Asked until it says something. */
  along?: (() => string | null) | undefined;
  /** Its prompt is being submitted again. */
  busy: boolean;
}

export function createFollowedTurns(deps: {
  view: TerminalView;
  exclusivePane: ExclusivePane;
  clock: Clock;
  log: Log;
  profile: CompiledProfile | null;
  /** A text that was submitted again is in the composer and could not be cleared. */
  onLeft: (text: string) => void;
}) {
  const { view, exclusivePane, clock, log, profile } = deps;
  const turns = new Map<Followed, OnEvidence>();

  function look(state: TerminalState): void {
    for (const [held, onEvidence] of turns) {
      // Until the Enter is proved and noted, an idle screen is the one before the turn.
      if (held.busy) continue;
      watch(held, onEvidence, state);
      if (held.asked && mayBeHandedBack(state)) void resubmit(held, onEvidence);
    }
  }

  function watch(held: Followed, onEvidence: OnEvidence, state: TerminalState): void {
    const news = followTurn(held.watch, state);
    held.watch = news.watch;
    if (news.watch.started || news.watch.ended) held.asked = null;
    if (news.watch.ended) turns.delete(held);
    // The tool's report and its transcript may come after the proof of Enter.
    const words = news.evidence.length > 0 ? held.along?.() : null;
    if (words != null) held.along = undefined;
    for (const [at, evidence] of news.evidence.entries()) {
      const proof = words != null && at === 0 ? `${evidence.proof}; ${describeAlong(words)}` : evidence.proof;
      const more = words != null && at === 0 ? { typed_along: words } : {};
      stampedBy(clock, onEvidence)({ ...evidence, ...more, proof });
    }
  }

  /** One at a time for each prompt; a later state looks again when this one found nothing to do. */
  async function resubmit(held: Followed, onEvidence: OnEvidence): Promise<void> {
    if (held.busy || !profile) return;
    held.busy = true;
    try {
      await exclusivePane.exclusive(async (pane) => {
        if (!held.asked) return;
        const prove = stampedBy(clock, onEvidence);
        const { text, left } = held.asked;
        const outcome = await submitAgain({ view, clock, profile, pane, onEvidence: prove }, text);
        if (!outcome) return;
        held.asked = null;
        if (outcome.outcome === "failed") {
          turns.delete(held);
          if (outcome.left) deps.onLeft(text);
          prove({ step: "settled", proof: `handed back after a question: ${outcome.detail}` });
          return;
        }
        view.notePrompt(outcome.note);
        if (outcome.asked && left > 1) held.asked = { text, left: left - 1 };
      });
    } catch (error) {
      log.line("dispatch fault", { error: messageOf(error) });
    } finally {
      held.busy = false;
    }
    // Nothing is submitted from here: a draft that is not the prompt would be looked at without end.
    if (turns.has(held)) watch(held, onEvidence, view.state());
  }

  view.subscribe(look);

  return {
    /**
     * Follows one more turn. `started`: it was seen to run before. `asked`: the prompt whose Enter opened a
     * question, to be submitted again should the question hand it back; null when it was taken. `along`: what a
     * person's keys added to the prompt.
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
    /** No prompt is submitted again once its question has gone. */
    giveUpQuestions(): void {
      for (const held of turns.keys()) held.asked = null;
    },
  };
}

/** Gives each piece of evidence the moment at which it was proved. */
export function stampedBy(
  clock: Clock,
  onEvidence: OnEvidence,
): (evidence: Omit<Evidence, "at_utc">) => void {
  return (evidence) => onEvidence({ ...evidence, at_utc: timestampNow(clock) });
}

/** How far one submitted prompt has come, judged by the states that followed it. */
interface TurnWatch {
  /** A turn was seen to run since the prompt was submitted. */
  started: boolean;
  ended: boolean;
}

interface TurnNews {
  watch: TurnWatch;
  evidence: Omit<Evidence, "at_utc">[];
}

/**
 * What `state` proves about a prompt that was submitted before it. A turn has started when the tool shows
 * that it works; it has ended when the tracker, which holds `active` from the submission on, calls the
 * terminal ready again or records a result. A turn too quick to be seen working starts and ends at once. A
 * program that has ended took its turn with it; a program that cannot be looked at proves nothing. Pure.
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
    // How the turn went is settled only when the screen has been still for a while, or the tool reported it.
    const { result } = state.last_turn;
    const ready = byTool ? "the tool reported its end and is ready again" : "ready again";
    evidence.push({ step: "turn_ended", proof: result === "none" ? ready : `${ready}: ${result}` });
  }
  return { watch: { started: started || ended, ended }, evidence };
}

/** A prompt whose Enter brought up a question instead of a turn. */
interface Asked {
  /** As it was typed. */
  text: string;
  /** How many times more it may be submitted after a question. */
  left: number;
}

/** A tool that asks again at each Enter will not take the text. */
export const maxQuestions = 3;
