import type { TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import type { KeyName } from "../terminal/keys.ts";
import type { CompiledProfile } from "../terminal/profile.ts";
import type { PaneWriter } from "../terminal/tmux-exclusive-pane.ts";
import type { InterruptOutcome } from "./agent.ts";
import { clearDraft } from "./dispatch.ts";
import { hasDraft, isWorking } from "./screen-facts.ts";
import { awaitState, type TerminalView } from "./terminal-view.ts";

/** How long a tool may take to show that its turn has stopped. */
const stopMs = 3000;
/** Input that the tool held starts at once when a turn is stopped; each such turn needs its own interrupt. */
const maxTurns = 6;
/** A tool may swallow one key; one that ignores two without holding further input ignores the next ones, too. */
const maxIgnored = 2;

/**
 * Stops the running turn with the tool's own key and proves it. On an idle agent no key is sent: a second Escape
 * opens a modal in some tools. A prompt that the tool hands back as a draft is cleared, since it was interrupted
 * and would keep the composer from ever being ready. Source: spec/terminal.md 7; ruling 8.
 */
export async function stopTurn(deps: {
  view: TerminalView;
  clock: Clock;
  profile: CompiledProfile;
  pane: PaneWriter;
}): Promise<InterruptOutcome> {
  const { view, clock, profile, pane } = deps;
  const before = view.state();
  if (!isBusy(before)) return { outcome: "no_op", detail: "no turn is running" };
  const key = { kind: "key", name: profile.data.interrupt.key as KeyName } as const;
  let ignored = 0;
  for (let turn = 1; turn <= maxTurns && ignored < maxIgnored; turn++) {
    const holdsInput = view.state().surface.pending_input === "yes";
    for (let press = 0; press < profile.data.interrupt.presses; press++) {
      if (press > 0) await sleep(clock, profile.data.interrupt.spacing_ms);
      await pane.keys([key]);
    }
    await view.look();
    const rested = await awaitState(view, clock, (state) => !isBusy(state), stopMs);
    if (!rested && !holdsInput) ignored += 1;
    const after = rested ?? view.state();
    if (isWorking(after) || after.awaiting_decision) continue;
    // Held active by the prompt's note alone, with nothing to see of a turn: a further key would open a modal.
    if (isBusy(after) && after.surface.accepting_input !== "yes") break;
    // An idle frame may come before a tool hands the prompt back (claude 2.1.197: up to 110 ms later), and in some
    // tools an Enter soon after the key reads as one key with it: both want this pause.
    // So may one before held input begins (gemini 0.61.0: 40 ms).
    const handedBack = hasDraft(before) ? null : await handBack(deps);
    if (isWorking(view.state())) continue;
    if (handedBack) await clearDraft(deps);
    view.noteInterrupt();
    return {
      outcome: "interrupted",
      detail:
        turn === 1 ? "the turn was stopped" : `${turn} turns were stopped, with the input the tool held`,
    };
  }
  return { outcome: "failed", detail: "the turn was not seen to stop after the interrupt key" };
}

/** Waits out the pause that must follow the key; the state with a draft, if one came up in it. */
async function handBack({
  view,
  clock,
  profile,
}: Parameters<typeof stopTurn>[0]): Promise<TerminalState | null> {
  const untilMs = clock.monotonicMs() + profile.data.interrupt.before_enter_ms;
  const draft = await awaitState(view, clock, hasDraft, profile.data.interrupt.before_enter_ms);
  await sleep(clock, untilMs - clock.monotonicMs());
  return draft;
}

function isBusy(state: TerminalState): boolean {
  return isWorking(state) || state.turn.phase === "active";
}
