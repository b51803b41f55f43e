import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { PaneDoor } from "../terminal/pane-door.ts";
import type { CompiledProfile } from "../terminal/profile.ts";
import type { Submission } from "./agent.ts";
import { type Asked, mayBeHandedBack, notTaken, submitAgain } from "./handed-back.ts";
import type { TerminalView } from "./terminal-view.ts";
import { followTurn, type TurnWatch } from "./turn-watch.ts";

type Tell = Submission["onEvidence"];

/** The turns of submitted prompts, followed to their end. */
export interface FollowedTurns {
  /**
   * Follows one more turn. `started`: it was seen to run before. `asked`: the prompt whose Enter opened a question,
   * to be submitted again should the question hand it back; null when it was taken.
   */
  follow(turn: { started: boolean; asked: Asked | null; onEvidence: Tell }): void;
  /** No prompt is submitted again once its question has gone. */
  giveUpQuestions(): void;
}

interface Followed {
  watch: TurnWatch;
  /** Null once the prompt was seen to be taken, or given up. */
  asked: Asked | null;
  /** It is being submitted again. */
  busy: boolean;
}

export function createFollowedTurns(deps: {
  view: TerminalView;
  door: PaneDoor;
  clock: Clock;
  log: Log;
  profile: CompiledProfile | null;
}): FollowedTurns {
  const { view, door, clock, log, profile } = deps;
  const turns = new Map<Followed, Tell>();

  function look(state: TerminalState): void {
    for (const [held, tell] of turns) {
      // Until the Enter is proved and noted, an idle screen is the one before the turn.
      if (held.busy) continue;
      watch(held, tell, state);
      if (held.asked && mayBeHandedBack(state)) void takeUpAgain(held, tell);
    }
  }

  function watch(held: Followed, tell: Tell, state: TerminalState): void {
    const news = followTurn(held.watch, state);
    held.watch = news.watch;
    if (news.watch.started || news.watch.ended) held.asked = null;
    if (news.watch.ended) turns.delete(held);
    for (const evidence of news.evidence) stampedBy(clock, tell)(evidence);
  }

  /** One at a time for each prompt; a later state looks again when this one found nothing to do. */
  async function takeUpAgain(held: Followed, tell: Tell): Promise<void> {
    if (held.busy || !profile) return;
    held.busy = true;
    try {
      await door.exclusive(async (pane) => {
        if (!held.asked) return;
        const onEvidence = stampedBy(clock, tell);
        const { text, left } = held.asked;
        const outcome = await submitAgain({ view, clock, profile, pane, onEvidence }, held.asked);
        if (!outcome) return;
        held.asked = null;
        if (outcome.outcome === "failed") {
          turns.delete(held);
          onEvidence(notTaken(outcome.detail));
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
    // Nothing is taken up from here: a draft that is not the prompt would be looked at without end.
    if (turns.has(held)) watch(held, tell, view.state());
  }

  view.subscribe(look);

  return {
    follow({ started, asked, onEvidence }) {
      turns.set({ watch: { started, ended: false }, asked, busy: false }, onEvidence);
      look(view.state());
    },
    giveUpQuestions() {
      for (const held of turns.keys()) held.asked = null;
    },
  };
}

/** Gives each rung the moment at which it was proved. */
export function stampedBy(clock: Clock, tell: Tell): (evidence: Omit<Evidence, "at_utc">) => void {
  return (evidence) => tell({ ...evidence, at_utc: timestampNow(clock) });
}
