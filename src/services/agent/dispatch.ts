import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import type { KeyName } from "../terminal/keys.ts";
import { type CompiledProfile, isProvedVersion } from "../terminal/profiles/profile.ts";
import type { PaneWriter } from "../terminal/tmux/exclusive-pane.ts";
import { enterDelayMs, isDraftOf, listOpensWithinMs, pastesOf } from "./prompt-text.ts";
import {
  beginAtDraft,
  beginPaste,
  isListed,
  lastProofMs,
  type Observed,
  type SubmissionEffect,
  type SubmissionEvent,
  type SubmissionFacts,
  type SubmissionState,
  type SubmissionStep,
  showsNewPrompt,
  showsTaken,
  transition,
  typedAlong,
} from "./submission.ts";
import {
  awaitState,
  cameUp,
  closedMode,
  type DispatchOutcome,
  hasDraft,
  hasEnded,
  isCommand,
  isWorking,
  type TerminalView,
  wasTaken,
} from "./terminal-view.ts";

/**
 * Minimum time before a visible command gets a second Enter: the command may be ending the tool or opening a
 * menu, which would receive that Enter. opencode 1.18.33 took 1.2 s from `/exit` to the shell on a busy
 * machine.
 */
const commandRetryMs = 2000;
/** The longest wait for the proof of one Enter. */
const maxProofMs = 15_000;
/** Some tools need one clearing key for each row of a draft. */
const clearAttempts = 12;
/** Time for a cleared composer to stop showing its draft. */
const clearedMs = 150;
/**
 * Pause before C-c, which is pressed at most once: it ends some tools when their composer is empty, so the
 * draft must still be visible after the pause.
 */
const beforeInterruptMs = 1000;

export interface DispatchDeps {
  view: TerminalView;
  clock: Clock;
  profile: CompiledProfile;
  pane: PaneWriter;
  onEvidence: (evidence: Omit<Evidence, "at_utc">) => void;
}

/**
 * Types `text` into a composer that is ready for it, presses Enter, and proves that the tool took the text.
 * `submission.ts` decides; this module performs its effects. Source: spec/terminal.md 6.
 */
export function dispatchText(deps: DispatchDeps, text: string): Promise<DispatchOutcome> {
  const before = deps.view.state();
  return perform(deps, { text, before, joined: hasDraft(before) }, beginPaste());
}

/** Whether a draft is left after a question, which may be the unsent prompt. Pure. */
export function mayBeHandedBack(state: TerminalState): boolean {
  return !state.awaiting_decision && hasDraft(state) && !isWorking(state);
}

/**
 * Submits `text` again when the tool put it back into its composer after a question. Returns null, and
 * presses no key, when the composer holds another text: a person may have changed it.
 */
export async function submitAgain(deps: DispatchDeps, text: string): Promise<DispatchOutcome | null> {
  const before = await deps.view.look();
  const draft = deps.view.draft();
  if (!mayBeHandedBack(before) || draft === null || !isDraftOf(draft, text)) return null;
  return perform(deps, { text, before, joined: false }, beginAtDraft());
}

/** Performs the effects of one submission, in order, and answers each with an event, until it is done. */
async function perform(
  deps: DispatchDeps,
  prompt: Pick<SubmissionFacts, "text" | "before" | "joined">,
  first: SubmissionStep,
): Promise<DispatchOutcome> {
  const { view, profile } = deps;
  const { before, text } = prompt;
  const minRetryMs = isCommand(text) ? commandRetryMs : 0;
  const retriesMs = profile.data.submit.enter_retry_after_ms.map((ms) => Math.max(ms, minRetryMs));
  const facts: SubmissionFacts = {
    ...prompt,
    instanceId: view.instanceId(),
    proved: isProvedVersion(profile, before.tracked_session.observed_tool_version),
    proofMs: [...retriesMs, lastProofMs],
    shownBefore: view.shown(),
    opensList: listOpensWithinMs(text, profile) > 0,
  };
  const act = createActions(deps, facts);
  view.promptTyped(text, isCommand(text));
  try {
    let step = first;
    while (step.state.at !== "done") {
      let answer: SubmissionEvent | null = null;
      for (const effect of step.effects) answer = (await act.perform(effect, step.state)) ?? answer;
      if (!answer) throw new Error(`a submission that is ${step.state.at} asked for nothing`);
      step = transition(step.state, answer, facts);
    }
    for (const effect of step.effects) await act.perform(effect, step.state);
    const { outcome } = step.state;
    const isQuoted = step.effects.some((effect) => effect.do === "prove" && effect.along !== undefined);
    if (outcome.outcome === "failed" || isQuoted) return outcome;
    return { ...outcome, along: watchAlong(view, facts) };
  } finally {
    act.end();
  }
}

/**
 * Returns a function for the text that a person added to the prompt; null until the tool reports or shows the
 * prompt. The first prompt after Enter decides, since a later one may begin with the same words.
 */
function watchAlong(view: DispatchDeps["view"], facts: SubmissionFacts): () => string | null {
  let words: string | null = null;
  let isDecided = false;
  const look = () => {
    if (isDecided) return words;
    const shown = view.shown();
    words = typedAlong({ otherPrompt: view.otherPrompt(), shown }, facts);
    isDecided = words !== null || view.typedReport() === "exact" || showsNewPrompt(shown, facts);
    return words;
  };
  look();
  return look;
}

function createActions(deps: DispatchDeps, facts: SubmissionFacts) {
  const { view, clock, profile, pane } = deps;
  const { text, before } = facts;
  const beganAtMs = clock.monotonicMs();
  const activity = watchActivity(view);
  const list = watchList(view, (state) => isListed({ state, shown: view.shown() }, facts));
  /** Time from the paste to its echo. */
  let echoedMs = 0;

  /** Time limit for the next step of a tool that was this slow at the paste. */
  const slowMs = () => Math.min(maxProofMs, 5 * echoedMs);

  const observe = (state: TerminalState): Observed => ({
    state,
    draft: view.draft(),
    instanceId: view.instanceId(),
    report: view.typedReport(),
    otherPrompt: view.otherPrompt(),
    shown: view.shown(),
    sawActivity: activity.seen(),
  });

  async function awaited(
    wanted: (state: TerminalState) => boolean,
    withinMs: number,
  ): Promise<SubmissionEvent> {
    const found = await awaitState(view, clock, wanted, withinMs);
    return { event: "awaited", found: found !== null, seen: observe(found ?? view.state()) };
  }

  const takenAfter = (from: SubmissionState) => {
    const echo = "echo" in from && from.echo;
    return (state: TerminalState) => wasTaken({ before, echo, state, report: view.typedReport() });
  };

  /** Null for an effect that needs no answer. */
  async function perform(effect: SubmissionEffect, from: SubmissionState): Promise<SubmissionEvent | null> {
    switch (effect.do) {
      case "paste": {
        await pane.paste(...pastesOf(text, profile, before.tracked_session.observed_tool_version));
        const shows = (state: TerminalState) => hasDraft(state) || cameUp(before, state);
        const found = await awaitState(view, clock, shows, effect.echoMs);
        echoedMs = clock.monotonicMs() - beganAtMs;
        return { event: "pasted", found, moved: hasMoved(before, view.state()) };
      }
      case "await_change": {
        // Another instance may show the very screen of before, and what would follow, the clearing keys, is
        // not for it.
        const isAnother = () => facts.instanceId !== null && view.instanceId() !== facts.instanceId;
        const reacts = (state: TerminalState) =>
          hasMoved(before, state) || hasDraft(state) || hasEnded(state) || isAnother();
        const answer = await awaited(reacts, effect.withinMs);
        echoedMs = clock.monotonicMs() - beganAtMs;
        return answer;
      }
      case "rest":
        await pauseBeforeEnter(
          deps,
          text,
          echoedMs > enterDelayMs(text, profile) ? clock.monotonicMs() : beganAtMs,
        );
        if (facts.opensList) {
          const withinMs = Math.max(listOpensWithinMs(text, profile), slowMs());
          await awaitState(view, clock, list.isOver, withinMs);
        }
        return { event: "rested" };
      case "look":
        return { event: "looked", seen: observe(await view.look()) };
      case "await_draft":
        return awaited(hasDraft, effect.withinMs);
      case "await_no_list":
        return awaited((state) => !list.isOpen(state), Math.max(effect.withinMs, slowMs()));
      case "await_taken":
        return awaited((state) => showsTaken(observe(state), facts), Math.max(effect.withinMs, slowMs()));
      case "press_enter":
        activity.entered(view.state());
        if (!(await pane.enter(effect.at))) return { event: "moved", seen: observe(await view.look()) };
        await view.look();
        // A tool that is slow to show a text is slow to take it, and a second Enter could submit it twice.
        return awaited(takenAfter(from), Math.max(effect.proofMs, slowMs()));
      case "await_work": {
        const begun = (state: TerminalState) => !isWorking(before) && isWorking(state);
        const taken = takenAfter(from);
        return awaited((state) => taken(state) || begun(state), effect.withinMs);
      }
      case "clear":
        return { event: "cleared", empty: await clearDraft(deps) };
      case "restore":
        await pane.keys([{ kind: "text", text: effect.words }]);
        await view.look();
        return { event: "restored" };
      case "prove":
        deps.onEvidence({
          step: effect.step,
          proof: effect.proof,
          ...(effect.along === undefined ? {} : { typed_along: effect.along }),
        });
        return null;
    }
  }

  function end(): void {
    activity.end();
    list.end();
  }

  return { perform, end };
}

/**
 * Whether the screen may have changed since `before`. True for a screen without a composer or with a
 * question, which need not show a text, and for an unknown screen.
 */
function hasMoved(before: TerminalState, state: TerminalState): boolean {
  if (before.surface.accepting_input !== "yes" || before.awaiting_decision) return true;
  const [then, now] = [before, state].map((one) => one.probe_snapshot?.captured_text_hash);
  return then === undefined || now === undefined || then !== now;
}

/**
 * Waits for the profile's pause after a paste; shorter when a proved version shows exactly the text.
 */
async function pauseBeforeEnter(deps: DispatchDeps, text: string, pastedAtMs: number): Promise<void> {
  const { view, clock, profile } = deps;
  const restMs = () => pastedAtMs + enterDelayMs(text, profile) - clock.monotonicMs();
  const version = view.state().tracked_session.observed_tool_version ?? null;
  const afterEchoMs = profile.data.submit.enter_after_echo_ms;
  if (afterEchoMs !== undefined && version !== null && isProvedVersion(profile, version) && restMs() > 0) {
    const whole = () => isDraftOf(view.draft() ?? "", text);
    if (await awaitState(view, clock, whole, restMs())) {
      await sleep(clock, Math.min(afterEchoMs, restMs()));
      return;
    }
  }
  await sleep(clock, restMs());
}

/**
 * Watches, until `end`, whether the tool worked at any moment since Enter. The tool must have been idle at
 * Enter: a late frame of the previous turn is not work on this text.
 */
function watchActivity(view: TerminalView) {
  let idleAtEnter = false;
  let saw = false;
  const end = view.subscribe((state) => {
    saw ||= idleAtEnter && isWorking(state);
  });
  return {
    /** Called before Enter is pressed in `state`. */
    entered(state: TerminalState) {
      idleAtEnter ||= !isWorking(state);
    },
    seen: () => saw,
    end,
  };
}

/**
 * Watches completion lists until `end`: whether a list is open that offers another text, and whether a list
 * was open before.
 */
function watchList(view: TerminalView, isOpen: (state: TerminalState) => boolean) {
  let wasOpen = false;
  const end = view.subscribe(() => {
    wasOpen ||= view.shown().offered !== null;
  });
  return { isOpen, isOver: (state: TerminalState) => wasOpen && !isOpen(state), end };
}

/** Types for a tool whose screen cannot be read: only the sending of the bytes is proved. */
export async function dispatchBlind(
  deps: Pick<DispatchDeps, "clock" | "pane" | "onEvidence">,
  text: string,
): Promise<DispatchOutcome> {
  await deps.pane.paste(text);
  deps.onEvidence({ step: "typed", proof: "handed to the terminal" });
  await sleep(deps.clock, 300);
  await deps.pane.keys([{ kind: "key", name: "Enter" }]);
  deps.onEvidence({ step: "submitted", proof: "Enter sent; this tool's screen cannot be read" });
  const note = { baseline: null, sawActivity: false, command: isCommand(text) };
  return { outcome: "submitted", note, asked: false };
}

/**
 * Presses the tool's clearing key until the composer is empty. When the key does not change the draft, it
 * tries the other key sequences of the profile. It also leaves a mode in which text is not a prompt: an empty
 * shell line of claude 2.1.330 ends with Backspace. Returns false when the composer does not become empty.
 */
export async function clearDraft(
  deps: Pick<DispatchDeps, "view" | "clock" | "profile" | "pane">,
): Promise<boolean> {
  const { view, clock, profile, pane } = deps;
  const { clear_draft_key, clear_draft_otherwise = [] } = profile.data.interrupt;
  const all = [[clear_draft_key ?? "C-u"], ...clear_draft_otherwise];
  const sequences = all.filter((keys) => !keys.includes("C-c"));
  const press = (keys: readonly string[]) =>
    pane.keys(keys.map((name) => ({ kind: "key", name: name as KeyName | "C-e" })));
  const isEmpty = async (withinMs: number) =>
    (await awaitState(view, clock, (state) => !hasDraft(state), withinMs)) !== null;
  let current = 0;
  for (let attempt = 0; attempt < clearAttempts; attempt++) {
    const before = view.draft();
    await press(sequences[current % sequences.length] ?? []);
    const state = await view.look();
    if (closedMode(state) !== null) await press(["BSpace"]);
    if (await isEmpty(clearedMs)) return true;
    if (view.draft() === before) current += 1;
  }
  const last = all.find((keys) => keys.includes("C-c"));
  if (last === undefined) return false;
  if (await isEmpty(beforeInterruptMs)) return true;
  const state = await view.look();
  if (!hasDraft(state) || isWorking(state)) return !hasDraft(state);
  await press(last);
  await view.look();
  return isEmpty(beforeInterruptMs);
}
