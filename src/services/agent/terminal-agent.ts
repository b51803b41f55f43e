import type { DecisionAnswer, TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf, ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type KeyName, parseKeySequence } from "../terminal/keys.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";
import { failingFacts } from "../terminal/readiness.ts";
import { type ExclusivePane, type PaneWriter, reservePane } from "../terminal/tmux/exclusive-pane.ts";
import {
  type Agent,
  type AgentTerminal,
  type Connectivity,
  createPermit,
  type InterruptOutcome,
  type Permit,
  type Readiness,
  type Refusal,
  type RefusedPermit,
  refusePermit,
  type Submission,
  type SubmitOutcome,
  type SubmitPolicy,
} from "./agent.ts";
import { answerDecision, type Chosen, chooseOption } from "./decision.ts";
import { clearDraft, dispatchBlind, dispatchText } from "./dispatch.ts";
import { addTimestamps, createFollowedTurns, maxQuestions } from "./followed-turns.ts";
import { isDraftOf, isRemainderOf, prepareText } from "./prompt-text.ts";
import { isInState, judgeReadiness, refuseMode, toConnectivity } from "./readiness.ts";
import {
  awaitState,
  type DispatchOutcome,
  hasDraft,
  isCommand,
  isWorking,
  type TerminalView,
} from "./terminal-view.ts";

/** Time limit of the reset of a conversation. */
const resetMs = 15_000;

interface TerminalAgentDeps {
  backend: string;
  tool: string;
  /** Null for a tool that no profile describes. */
  profile: CompiledProfile | null;
  view: TerminalView;
  exclusivePane: ExclusivePane;
  clock: Clock;
  log: Log;
}

/** Limits for a started prompt that a person's typing delays: the wait, and the number of attempts. */
const personMs = 20_000;
const maxAttempts = 3;

/** Time for a cleared composer to be ready for a prompt. */
const clearedMs = 3000;
/** Maximum characters of a leftover text that its refusal quotes. */
const maxQuoted = 40;

const interruptRefusal = (): Refusal => ({
  ready: false,
  code: "not_ready",
  detail: "an interrupt is being carried out; try again once it has ended",
});

/** An agent CLI in a tmux pane. */
export function createTerminalAgent(deps: TerminalAgentDeps) {
  const { profile, view, exclusivePane, clock, log } = deps;
  const tracked = profile !== null;
  let judged: { state: TerminalState; connectivity: Connectivity } | null = null;
  let interrupting = 0;
  /** A text that this gateway typed and could not clear. `isStuck`: a second attempt failed, too. */
  let leftover: { text: string; isStuck: boolean } | null = null;
  /** The text that the tool took last and may hand back. */
  let lastTaken: string | null = null;
  const turns = createFollowedTurns({
    view,
    exclusivePane,
    clock,
    log,
    profile,
    onLeft(text) {
      leftover = { text, isStuck: false };
    },
  });
  // Once the composer was empty, a text like the beginning of the leftover may be a person's.
  view.subscribe((state) => {
    if (leftover !== null && failingFacts(state).length === 0) leftover = null;
  });

  async function type(pane: PaneWriter, text: string, submission: Submission): Promise<DispatchOutcome> {
    const onEvidence = addTimestamps(clock, submission.onEvidence);
    if (!profile) return dispatchBlind({ clock, pane, onEvidence }, text);
    const outcome = await dispatchText({ view, clock, profile, pane, onEvidence }, text);
    leftover = outcome.outcome === "failed" && outcome.left ? { text, isStuck: false } : null;
    lastTaken = outcome.outcome === "submitted" ? text : null;
    return outcome;
  }

  /**
   * Types a prompt, again after a person who typed at the same moment has finished. A policy that permits
   * typing into a draft does not permit submitting the person's words.
   */
  async function typeUndisturbed(
    pane: PaneWriter,
    text: string,
    submission: Submission,
  ): Promise<DispatchOutcome> {
    const isReady = (state: TerminalState) =>
      !hasDraft(state) && judgeReadiness(state, submission.policy, tracked).ready;
    for (let attempt = 1; ; attempt++) {
      const outcome = await type(pane, text, submission);
      const disturbed = outcome.outcome === "failed" && outcome.disturbed === true;
      if (!disturbed || attempt === maxAttempts) return outcome;
      if (!(await awaitState(view, clock, isReady, personMs))) return outcome;
    }
  }

  /** Whether the composer of an idle tool holds only the leftover of this gateway. */
  function holdsLeftover(state: TerminalState): boolean {
    const draft = view.draft();
    if (leftover === null || draft === null || !hasDraft(state) || isWorking(state)) return false;
    if (state.awaiting_decision || state.parked) return false;
    return isDraftOf(draft, leftover.text) || isRemainderOf(draft, leftover.text);
  }

  function stuckWith(text: string): Refusal {
    const quoted = JSON.stringify(text.slice(0, maxQuoted));
    const detail = `the composer holds ${quoted}, which this gateway typed and cannot clear; clear it in the terminal`;
    return { ready: false, code: "not_ready", detail };
  }

  /** Whether the composer of an idle tool holds exactly `lastTaken`. */
  function holdsTaken(state: TerminalState): boolean {
    const draft = view.draft();
    if (lastTaken === null || draft === null) return false;
    return hasDraft(state) && !isWorking(state) && isDraftOf(draft, lastTaken);
  }

  /**
   * Like `judgeReadiness`, but a leftover of this gateway does not make the agent unready until an attempt to
   * clear it has failed.
   */
  function judge(state: TerminalState, policy: SubmitPolicy): Readiness {
    const answer = judgeReadiness(state, policy, tracked);
    if (answer.ready || answer.code !== "not_ready" || !hasDraft(state)) return answer;
    if (leftover !== null && holdsLeftover(state))
      return leftover.isStuck ? stuckWith(leftover.text) : { ready: true };
    if (!holdsTaken(state)) return answer;
    const detail = `${answer.detail}; the composer holds the prompt that was submitted last: submit or clear it in the terminal`;
    return { ...answer, detail };
  }

  /**
   * Clears the leftover of this gateway from the composer. Returns null after that and without a leftover.
   */
  async function clearLeftover(pane: PaneWriter, policy: SubmitPolicy): Promise<Refusal | null> {
    const left = leftover;
    // Without a leftover there is no look, since each look delays the prompt.
    if (left === null || !profile || !holdsLeftover(await view.look())) return null;
    if (!(await clearDraft({ view, clock, profile, pane }))) {
      left.isStuck = true;
      return stuckWith(left.text);
    }
    log.line("a text that was left in the composer is cleared");
    leftover = null;
    await awaitState(view, clock, (now) => judgeReadiness(now, policy, tracked).ready, clearedMs);
    return null;
  }

  /** Resets the conversation and waits until the agent can begin a turn. Returns null on success. */
  async function reset(pane: PaneWriter, submission: Submission): Promise<SubmitOutcome | null> {
    if (!profile) return failed(false, "this tool has no known command that resets its conversation");
    const quiet = { ...submission, onEvidence: () => {} };
    const outcome = await type(pane, profile.data.commands.reset, quiet);
    if (outcome.outcome === "failed") return outcome;
    view.notePrompt(outcome.note);
    const ready = await awaitState(view, clock, (state) => failingFacts(state).length === 0, resetMs);
    return ready
      ? null
      : failed(false, "the conversation was reset but the agent did not become ready again");
  }

  /** Clears a leftover, then reads the state again. Returns why the agent cannot take the prompt, or null. */
  async function refuseIn(pane: PaneWriter, policy: SubmitPolicy): Promise<Refusal | null> {
    const stuck = await clearLeftover(pane, policy);
    if (stuck) return stuck;
    const state = await view.look();
    const answer = judgeReadiness(state, policy, tracked);
    return answer.ready ? refuseMode(state) : answer;
  }

  async function submitIn(pane: PaneWriter, submission: Submission): Promise<SubmitOutcome> {
    const text = profile ? prepareText(submission.prompt, profile) : submission.prompt;
    if (text === null) return failed(false, "nothing is left of the prompt without its control characters");
    try {
      const stopped = submission.newChat ? await reset(pane, submission) : null;
      if (stopped) return stopped;
      const outcome = await typeUndisturbed(pane, text, submission);
      if (outcome.outcome === "failed") return outcome;
      view.notePrompt(outcome.note);
      const asked = outcome.asked && !outcome.note.command ? { text, remaining: maxQuestions } : null;
      turns.follow({ started: false, asked, along: outcome.along, onEvidence: submission.onEvidence });
      return { outcome: "submitted" };
    } catch (error) {
      log.line("dispatch fault", { error: messageOf(error) });
      return failed(true, messageOf(error));
    }
  }

  /** Refuses a prompt at once that would be refused after a wait for the pane. */
  async function refuseWaiting(policy: SubmitPolicy): Promise<Refusal | null> {
    if (!exclusivePane.busy()) return null;
    if (interrupting > 0) return interruptRefusal();
    const answer = judge(await view.look(), policy);
    return answer.ready ? null : answer;
  }

  async function reserve(submission: Submission): Promise<Permit<SubmitOutcome> | RefusedPermit> {
    const { policy } = submission;
    const early = await refuseWaiting(policy);
    if (early) return refusePermit(early);
    using reserved = new DisposableStack();
    const { pane } = reserved.use(await reservePane(exclusivePane));
    const refusal = await refuseIn(pane, policy);
    return refusal ? refusePermit(refusal) : createPermit(reserved.move(), () => submitIn(pane, submission));
  }

  async function interrupt(): Promise<Permit<InterruptOutcome>> {
    interrupting += 1;
    using reserved = new DisposableStack();
    reserved.defer(() => {
      interrupting -= 1;
    });
    const { pane } = reserved.use(await reservePane(exclusivePane));
    return createPermit(reserved.move(), async () => {
      // An interrupt also cancels prompts that wait for a new submission after a question.
      turns.giveUpQuestions();
      try {
        return await interruptIn(pane);
      } catch (error) {
        return { outcome: "failed", detail: messageOf(error) };
      }
    });
  }

  async function decide(answer: DecisionAnswer): Promise<Chosen> {
    if (exclusivePane.busy()) {
      requireAnswerable(await view.look());
      chooseOption(view.state().awaiting_decision, answer);
      if (interrupting > 0) throw new ServiceError("precondition_failed", interruptRefusal().detail);
    }
    return exclusivePane.exclusive(async (pane) => {
      const usable = requireAnswerable(await view.look());
      return answerDecision({ view, clock, profile: usable, pane }, answer);
    });
  }

  function requireAnswerable(state: TerminalState): CompiledProfile {
    const present = judgeReadiness(state, "always", tracked);
    if (!present.ready) throw new ServiceError("unavailable", present.detail);
    if (!profile) throw new ServiceError("unsupported", "this tool's screen cannot be read");
    return profile;
  }

  async function withdrawIn(pane: PaneWriter, prompt: string): Promise<string> {
    const state = await view.look();
    const present = judgeReadiness(state, "always", tracked);
    if (!present.ready) return present.detail;
    if (!profile) return "this tool's screen cannot be read";
    const draft = view.draft();
    if (draft === null) return "the composer is not to be seen";
    if (!hasDraft(state) || draft === "") return "the composer holds no text of it";
    if (!isDraftOf(draft, prepareText(prompt, profile) ?? "")) {
      return "the composer holds another draft, which was left alone";
    }
    const cleared = await clearDraft({ view, clock, profile, pane });
    if (!cleared) leftover = { text: draft, isStuck: false };
    return `its text was unsent in the composer and ${cleared ? "was" : "could not be"} cleared`;
  }

  async function interruptIn(pane: PaneWriter): Promise<InterruptOutcome> {
    const state = await view.look();
    const answer = judgeReadiness(state, "always", tracked);
    if (!answer.ready) return { outcome: "unavailable", detail: answer.detail };
    if (!profile) {
      await pane.keys([{ kind: "key", name: "Escape" }]);
      return { outcome: "interrupted", detail: "Escape sent; this tool's screen cannot be read" };
    }
    const outcome = await stopTurn({ view, clock, profile, pane });
    if (outcome.outcome !== "interrupted") return outcome;
    // The draft may be a prompt that came back before the interrupt, when a person pressed the tool's key.
    const isLeft = holdsTaken(view.state())
      ? !(await clearDraft({ view, clock, profile, pane }))
      : outcome.leftDraft;
    const draft = view.draft();
    if (isLeft && draft) leftover = { text: draft, isStuck: false };
    return outcome;
  }

  /** Judges each state once, since every request and every read of the status needs it. */
  function connectivity(): Connectivity {
    const state = view.judged();
    const instanceId = view.instanceId();
    if (judged?.state !== state || judged.connectivity.instanceId !== instanceId) {
      judged = { state, connectivity: toConnectivity(state, instanceId, tracked) };
    }
    return judged.connectivity;
  }

  const terminal: AgentTerminal = {
    tracked,
    expectPrompt() {
      if (judge(view.judged(), "turn_boundary").ready) view.readAhead();
    },
    withdraw: (prompt) =>
      exclusivePane.exclusive(async (pane) => {
        try {
          return await withdrawIn(pane, prompt);
        } catch (error) {
          return `its text could not be looked for: ${messageOf(error)}`;
        }
      }),
    followTurn: ({ started, onEvidence }) => turns.follow({ started, asked: null, onEvidence }),
    keys({ sequence, literal }) {
      const parsed = parseKeySequence(sequence, literal);
      if (!parsed.ok) throw new ServiceError("invalid_request", `sequence: ${parsed.message}`);
      return exclusivePane.exclusive(async (pane) => {
        const answer = judgeReadiness(await view.look(), "always", tracked);
        if (!answer.ready) throw new ServiceError("unavailable", answer.detail);
        try {
          await pane.keys(parsed.tokens);
        } catch (error) {
          throw wrapRefusal(error, "dispatch_failed");
        }
      });
    },
    type: (text) =>
      exclusivePane.exclusive(async (pane) => {
        const answer = judgeReadiness(view.judged(), "always", tracked);
        if (!answer.ready) throw new ServiceError("unavailable", answer.detail);
        await pane.raw(text);
      }),
    state: () => (tracked ? view.state() : null),
    explain: () => (tracked ? view.explain() : null),
    history: (limit) => (tracked ? view.history(limit) : null),
    notePrompt(prompt) {
      if (!tracked) return null;
      const { parsed_surface } = view.state();
      const baseline = parsed_surface?.normalized_projection_text ?? null;
      const noted = { text: prompt, command: isCommand(prompt), reported: true };
      view.notePrompt({ baseline, sawActivity: false, ...noted });
      return view.state();
    },
    async waitFor(wanted, { timeoutMs, signal }) {
      if (!tracked) return null;
      const holds = (state: TerminalState) => isInState(state, wanted);
      const startedMs = clock.monotonicMs();
      const found = signal.aborted ? null : await awaitState(view, clock, holds, timeoutMs, signal);
      const waitedMs = clock.monotonicMs() - startedMs;
      return { satisfied: found !== null, waitedMs, state: found ?? view.state() };
    },
  };

  return {
    backend: deps.backend,
    tool: deps.tool,
    terminal,
    connectivity,
    readiness: (policy: SubmitPolicy) => judge(view.judged(), policy),
    reserve,
    interrupt,
    decide,
    onChange: (listener: () => void) =>
      view.subscribe((_, change) => {
        if (change.material) listener();
      }),
  } satisfies Agent;
}

function failed(typed: boolean, detail: string): SubmitOutcome & { outcome: "failed" } {
  return { outcome: "failed", typed, detail };
}

/** Time for a tool to show that its turn has stopped. */
const stopMs = 3000;
/**
 * Turns that one interrupt stops at most: input that the tool held starts a turn when the previous one stops.
 */
const maxTurns = 6;
/**
 * Keys that a tool may ignore: it may swallow one, but a tool that ignores two without held input will ignore
 * the next ones.
 */
const maxIgnored = 2;

/**
 * Stops the running turn with the tool's key and proves it. An idle agent gets no key, since a second Escape
 * opens a modal in some tools. A prompt that the tool hands back as a draft is cleared, since it was
 * interrupted and would keep the composer from being ready. Source: spec/terminal.md 7; ruling 8.
 */
export async function stopTurn(deps: {
  view: TerminalView;
  clock: Clock;
  profile: CompiledProfile;
  pane: PaneWriter;
}): Promise<InterruptOutcome & { leftDraft?: boolean }> {
  const { view, clock, profile, pane } = deps;
  const before = view.state();
  if (!isBusy(before)) {
    return isReadable(before) ? { outcome: "no_op", detail: "no turn is running" } : unknownTurn(before);
  }
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
    // Active only because a prompt was noted, without a sign of a turn: another key would open a modal.
    if (isBusy(after) && after.surface.accepting_input !== "yes") break;
    // The pause has three reasons. A tool may hand the prompt back after an idle frame (claude 2.1.197: up to
    // 110 ms later) or start held input after one (gemini 0.61.0: 40 ms). Some tools read an Enter right
    // after the key as one key with it.
    const handedBack = hasDraft(before) ? null : await awaitHandBack(deps);
    if (isWorking(view.state())) continue;
    const leftDraft = handedBack !== null && !(await clearDraft(deps));
    view.noteInterrupt();
    return {
      outcome: "interrupted",
      ...(leftDraft ? { leftDraft } : {}),
      detail:
        turn === 1 ? "the turn was stopped" : `${turn} turns were stopped, with the input the tool held`,
    };
  }
  return { outcome: "failed", detail: "the turn was not seen to stop after the interrupt key" };
}

/** Waits for the pause after the key. Returns the state with a draft if one appeared; else null. */
async function awaitHandBack({
  view,
  clock,
  profile,
}: Parameters<typeof stopTurn>[0]): Promise<TerminalState | null> {
  const untilMs = clock.monotonicMs() + profile.data.interrupt.before_enter_ms;
  const draft = await awaitState(view, clock, hasDraft, profile.data.interrupt.before_enter_ms);
  await sleep(clock, untilMs - clock.monotonicMs());
  return draft;
}

/** Whether the screen shows its composer or a question, so that a running turn would be visible. */
function isReadable({ surface }: TerminalState): boolean {
  return surface.accepting_input !== "unknown";
}

function unknownTurn({ parsed_surface: parsed }: TerminalState): InterruptOutcome {
  const why = parsed?.anomaly_codes.map((code) => code.replaceAll("_", " ")).join(", ");
  return {
    outcome: "failed",
    detail: `whether a turn runs is not known, because the screen cannot be read${why ? ` (${why})` : ""}; no key was pressed`,
  };
}

function isBusy(state: TerminalState): boolean {
  return isWorking(state) || state.turn.phase === "active";
}
