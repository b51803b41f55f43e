import type { TerminalState } from "../../protocol/terminal.ts";
import {
  beginsText,
  holdsText,
  isAnotherText,
  isCommandName,
  offersAnother,
  personsWords,
  wordsAlong,
  wordsBehind,
} from "./prompt-text.ts";
import {
  cameUp,
  closedMode,
  type DispatchOutcome,
  describeProof,
  hasDraft,
  hasEnded,
  isCommand,
  isWorking,
  projectionOf,
  type ShownBeside,
  wasTaken,
} from "./terminal-view.ts";

/**
 * The submission of one prompt to a tool: paste the text once, press Enter until the tool takes it, and clear
 * a text that the tool does not take. Effects and events alternate: each state awaits the event that answers
 * its effect.
 *
 * ```
 *   pasting ──shown──> settling ──rested──> looking ──press Enter──> proving ──taken──> done
 *      │                  ^                 │  ^  ^                   │  │
 *      └─unchanged─> unread                 │  │  └─presses left──────┘  └─no press left──┐
 *                      │         torn frame v  │                                          │
 *                      │               repainting                                         v
 *                      │                    looking ──nothing to press──────────────> last_look ──taken──> done
 *                      │                       │                                       │   │
 *                      │ never read            │ the text must not be submitted        │   └─other words─> awaiting_work ──> done
 *                      v                       v                                       │
 *                   clearing <─────────────────┴──────────────the text is still there──┘
 *                      └──cleared──> done, or ──a person's words──> restoring ──> done
 * ```
 *
 * Before an Enter, `looking` leads to `listed` while a completion list is open whose entry Enter would take.
 * After an Enter, `proving` leads to `confirming` when the tool may open such a list late, to check that it
 * did not take another text. `looking` and `last_look` also lead to `done` or `clearing` when the tool is a
 * new instance or has ended, when it reported the text, when a question came up, when the composer is in
 * another mode, or when a person types. The text is never pasted twice, and no Enter follows a question, an
 * ended tool or a person's words. Source: spec/terminal.md 6.
 */
export type SubmissionState =
  | { at: "pasting" }
  | { at: "unread" }
  | { at: "settling"; echo: boolean }
  /** Before Enter number `press` + 1. `repainted`: the submission has already waited for a complete frame. */
  | { at: "looking"; press: number; echo: boolean; shown: Shown; repainted: boolean; moved?: number }
  /** A completion list is open whose entry Enter would take. */
  | { at: "listed"; press: number; echo: boolean; shown: Shown; repainted: boolean; moved?: number }
  | { at: "repainting"; echo: boolean; shown: Shown }
  /** `moved`: how often the cursor was elsewhere when Enter was due. */
  | { at: "proving"; press: number; echo: boolean; shown: Shown; moved?: number }
  /** Enter was taken, perhaps for an entry of a list. */
  | { at: "confirming"; press: number; shown: Shown }
  | { at: "last_look"; echo: boolean; shown: Shown }
  /** Other words replaced the text, so only work of the tool proves that it took the text. */
  | { at: "awaiting_work"; echo: boolean; shown: Shown }
  | { at: "clearing"; why: ClearReason }
  | { at: "restoring" }
  | { at: "done"; outcome: DispatchOutcome };

/** The composer at the last Enter. `whole`: whether it showed all of the text. */
interface Shown {
  whole: boolean;
  /** Words after the text: a person's, or a hint of the tool. */
  behind: string | null;
}

type ClearReason =
  /** A person typed at the same moment; `words` are typed back into the composer. */
  | { cause: "person"; words: string }
  /** Enter would submit the text as something other than a prompt. */
  | { cause: "withdrawn"; detail: string }
  /** The tool did not read the text yet; the clearing keys follow the text. */
  | { cause: "unread" }
  /** The tool took no Enter. */
  | { cause: "untaken" };

/** Facts that do not change during one submission. */
export interface SubmissionFacts {
  text: string;
  /** The terminal before the text was typed, the baseline of every proof. */
  before: TerminalState;
  /** The instance of the tool that gets the text; null while it cannot be read. */
  instanceId: string | null;
  /** Whether the composer held a draft before the text, which the caller allows to submit with it. */
  joined: boolean;
  /** Whether the profile was tested with the tool's version, or the version is unknown. */
  proved: boolean;
  /** Time limit of the proof after each Enter; one entry for each press. */
  proofMs: readonly number[];
  /** The screen before the text. */
  shownBefore: ShownBeside;
  /** Whether the tool may open a completion list after it shows the text. */
  opensList: boolean;
}

/** The terminal at one moment. */
export interface Observed {
  state: TerminalState;
  /** The content of the composer; null when it is not visible as a whole. */
  draft: string | null;
  instanceId: string | null;
  /** The tool's report of the text. */
  report: "exact" | "other" | null;
  /** The text of the other prompt that it reported. */
  otherPrompt: string | null;
  shown: ShownBeside;
  /** Whether the tool, idle at Enter, has worked since. */
  sawActivity: boolean;
}

export type SubmissionEvent =
  /**
   * `found`: the first state that shows a draft or a new question; null without one. `moved`: whether the
   * screen has changed since the paste.
   */
  | { event: "pasted"; found: TerminalState | null; moved: boolean }
  | { event: "rested" }
  | { event: "looked"; seen: Observed }
  /** `found`: whether the awaited state came in time. `seen`: that state, else the latest one. */
  | { event: "awaited"; found: boolean; seen: Observed }
  /** Enter was not pressed, because the cursor had moved since the last look. */
  | { event: "moved"; seen: Observed }
  | { event: "cleared"; empty: boolean }
  | { event: "restored" };

export type SubmissionEffect =
  | { do: "paste"; echoMs: number }
  /** Awaits any change of the screen since before the paste. */
  | { do: "await_change"; withinMs: number }
  /** Pauses for as long as the tool needs after a paste. */
  | { do: "rest" }
  | { do: "look" }
  | { do: "await_draft"; withinMs: number }
  /** Awaits that no list offers another text. */
  | { do: "await_no_list"; withinMs: number }
  /** Awaits that the tool shows the text that it took. */
  | { do: "await_taken"; withinMs: number }
  /** `at`: the cursor at the last look; null: press Enter at any position. */
  | { do: "press_enter"; proofMs: number; at: ShownBeside["cursor"] }
  | { do: "await_work"; withinMs: number }
  | { do: "clear" }
  | { do: "restore"; words: string }
  /** The only effect without an answer. */
  | { do: "prove"; step: "typed" | "submitted"; proof: string; along?: string };

export interface SubmissionStep {
  state: SubmissionState;
  effects: SubmissionEffect[];
}

/** Time for the composer to show the paste. Later is not fatal: some tools repaint late. */
const echoMs = 2000;
/** Time for a tool to read a text: claude 2.1.330 took 20 s on a busy machine. */
const unreadMs = 60_000;
/** Time for the tool to show that it took the text after the last Enter. */
export const lastProofMs = 3000;
/** Time for a half repainted composer to show the text. */
const repaintMs = 1000;
/**
 * Time for a completion list to close: gemini 0.61.0 closes one without a match after 80 ms of its processor
 * time.
 */
const listMs = 3000;
/** Time for a tool to show the prompt after it took Enter. */
const confirmMs = 1500;
/** Looks that repeat because the cursor moved: a working tool moves it while it repaints. */
const maxMoves = 5;
/** Maximum characters of the quoted words after a prompt. */
const maxQuoted = 40;
const replaced = "other words replaced the text in the composer; whether it was taken is not known";
const notSeen = "whether the tool took the text is not known: neither is visible";
const unreadText = "the tool did not react to the text for 60 s; Enter was not pressed";
const questionFirst = "a question came up before Enter";
const unseen: Shown = { whole: false, behind: null };

/** The submission of a text that is not in the composer yet. */
export function beginPaste(): SubmissionStep {
  return { state: { at: "pasting" }, effects: [{ do: "paste", echoMs }] };
}

/** The submission of a text that the composer already shows. */
export function beginAtDraft(): SubmissionStep {
  return look({ press: 0, echo: true, shown: unseen, repainted: false });
}

/**
 * The transition for `event`, the answer to the effect of `state`. Throws for an event that is not an answer.
 * Pure.
 */
export function transition(
  state: SubmissionState,
  event: SubmissionEvent,
  facts: SubmissionFacts,
): SubmissionStep {
  switch (state.at) {
    case "pasting":
      if (event.event !== "pasted") break;
      return event.found === null && !event.moved
        ? { state: { at: "unread" }, effects: [{ do: "await_change", withinMs: unreadMs }] }
        : afterPaste(event.found);
    case "unread":
      if (event.event !== "awaited") break;
      return event.found ? afterPaste(event.seen.state) : clear({ cause: "unread" });
    case "settling":
      if (event.event === "rested")
        return look({ press: 0, echo: state.echo, shown: unseen, repainted: false });
      break;
    case "looking":
      if (event.event === "looked") return beforeEnter(state, event.seen, facts);
      break;
    case "listed":
      if (event.event !== "awaited") break;
      return event.found
        ? beforeEnter(state, event.seen, facts)
        : clear({ cause: "withdrawn", detail: listDetail(event.seen) });
    case "confirming":
      if (event.event === "awaited") return confirmed(state, event.seen, facts);
      break;
    case "repainting":
      if (event.event !== "awaited") break;
      return event.found
        ? beforeEnter({ ...state, press: 0, repainted: true }, event.seen, facts)
        : look({ press: 0, echo: state.echo, shown: state.shown, repainted: true });
    case "proving":
      if (event.event === "moved") {
        const { press, echo, shown, moved = 0 } = state;
        return beforeEnter({ press, echo, shown, repainted: true, moved: moved + 1 }, event.seen, facts);
      }
      if (event.event === "awaited") return afterEnter(state, event, facts);
      break;
    case "last_look":
      if (event.event === "looked") return afterLastEnter(state, event.seen, facts);
      break;
    case "awaiting_work":
      if (event.event !== "awaited") break;
      return event.found && !isOtherInstance(event.seen, facts)
        ? submitted(state.shown, event.seen, facts, describeProof(event.seen))
        : failed(true, replaced);
    case "clearing":
      if (event.event === "cleared") return afterClearing(state.why, event.empty);
      break;
    case "restoring":
      if (event.event === "restored")
        return done({ outcome: "failed", typed: false, detail: `${person}; ${takenOut}`, disturbed: true });
      break;
    case "done":
      break;
  }
  throw new Error(`a submission that is ${state.at} does not expect ${event.event}`);
}

function afterPaste(found: TerminalState | null): SubmissionStep {
  const echo = found !== null && hasDraft(found);
  const proof = echo ? "the composer shows the text" : "handed to the terminal; no echo seen";
  return {
    state: { at: "settling", echo },
    effects: [{ do: "prove", step: "typed", proof }, { do: "rest" }],
  };
}

function look(at: Omit<Extract<SubmissionState, { at: "looking" }>, "at">): SubmissionStep {
  return { state: { at: "looking", ...at }, effects: [{ do: "look" }] };
}

function beforeEnter(
  { press, echo, shown, repainted, moved = 0 }: Omit<Extract<SubmissionState, { at: "looking" }>, "at">,
  seen: Observed,
  facts: SubmissionFacts,
): SubmissionStep {
  // A half repainted frame shows no draft. An unproved version must show the draft before the first Enter.
  const mayBeTorn = press === 0 && !facts.proved && !hasDraft(seen.state) && !hasEnded(seen.state);
  if (mayBeTorn && !repainted) {
    return {
      state: { at: "repainting", echo, shown },
      effects: [{ do: "await_draft", withinMs: repaintMs }],
    };
  }
  // The screen of a new instance proves nothing about a text that the previous instance got.
  if (isOtherInstance(seen, facts)) return failed(true, otherInstance);
  // A person may have pressed Enter first, or the tool took an Enter without showing it.
  if (seen.report === "exact") return submitted(shown, seen, facts, describeProof(seen));
  const decision = decideEnter({ press, shown, moved }, seen, facts);
  switch (decision.do) {
    case "stop":
    case "replaced":
      return lastLook({ echo, shown });
    case "gone":
      return failed(true, "the tool ended before Enter");
    case "clear":
      return clear(decision.why);
    case "leave":
      if (isCommand(facts.text)) return failed(true, questionFirst);
      return submitted(shown, seen, facts, `${questionFirst}; the text waits behind it`);
    case "press": {
      if (isListed(seen, facts)) {
        return {
          state: { at: "listed", press, echo, shown, repainted, moved },
          effects: [{ do: "await_no_list", withinMs: listMs }],
        };
      }
      const proofMs = facts.proofMs[press] ?? lastProofMs;
      return {
        state: { at: "proving", press, echo, shown: decision.shown, moved },
        effects: [{ do: "press_enter", proofMs, at: moved < maxMoves ? seen.shown.cursor : null }],
      };
    }
  }
}

function afterEnter(
  { press, echo, shown }: Extract<SubmissionState, { at: "proving" }>,
  { found, seen }: Extract<SubmissionEvent, { event: "awaited" }>,
  facts: SubmissionFacts,
): SubmissionStep {
  if (isOtherInstance(seen, facts)) return failed(true, otherInstance);
  if (!found) {
    return press + 1 < facts.proofMs.length
      ? look({ press: press + 1, echo, shown, repainted: false })
      : lastLook({ echo, shown });
  }
  const { report, sawActivity, state } = seen;
  if (hasEnded(state) && report !== "exact" && !isCommand(facts.text) && !sawActivity) {
    return failed(true, "the tool ended at Enter and was not seen to work");
  }
  if (facts.opensList && !showsTaken(seen, facts)) {
    return {
      state: { at: "confirming", press, shown },
      effects: [{ do: "await_taken", withinMs: confirmMs }],
    };
  }
  return confirmed({ press, shown }, seen, facts);
}

function confirmed(
  { press, shown }: { press: number; shown: Shown },
  seen: Observed,
  facts: SubmissionFacts,
): SubmissionStep {
  const other = takenInstead(seen, facts);
  if (other !== null) return failed(true, other);
  return submitted(shown, seen, facts, `${describeProof(seen)} after Enter ${press + 1}`);
}

/** Whether a completion list is open in which Enter would take another text than the one in the composer. */
export function isListed(
  { shown, state }: Pick<Observed, "shown" | "state">,
  facts: SubmissionFacts,
): boolean {
  const { offered } = shown;
  if (offered === null || !hasDraft(state) || !offersAnother(offered, facts.text)) return false;
  // A row from before the text belongs to the transcript.
  return projectionOf(facts.before)?.includes(offered) !== true;
}

function listDetail({ shown: { offered } }: Observed): string {
  const entry = offered === null ? "" : ` with ${JSON.stringify(offered.slice(0, maxQuoted))}`;
  return `the tool keeps a completion list open${entry}, which Enter would take in place of the text`;
}

/** Whether the screen shows that the tool took this text, or proves that it took another one. */
export function showsTaken(seen: Observed, facts: SubmissionFacts): boolean {
  const { report, state, shown } = seen;
  if (report === "exact" || isWorking(state) || state.awaiting_decision || hasEnded(state)) return true;
  if (shown.newestPrompt !== null && beginsText(shown.newestPrompt, facts.text)) return true;
  return takenInstead(seen, facts) !== null;
}

/** Whether the transcript shows a prompt that was not its newest before the text was typed. */
export function showsNewPrompt(
  { newestPrompt }: ShownBeside,
  { shownBefore }: Pick<SubmissionFacts, "shownBefore">,
): boolean {
  return newestPrompt !== null && newestPrompt !== shownBefore.newestPrompt;
}

/**
 * The words that a person typed at the moment of Enter and that the tool took with the text; a look cannot
 * show letters that the tool has not drawn yet. Null when the tool neither reports nor shows such words.
 */
export function typedAlong(
  { otherPrompt, shown }: Pick<Observed, "otherPrompt" | "shown">,
  { text, before, joined, shownBefore }: SubmissionFacts,
): string | null {
  if (joined || before.surface.pending_input !== "no" || isWorking(before)) return null;
  const newest = showsNewPrompt(shown, { shownBefore }) ? shown.newestPrompt : null;
  for (const taken of [otherPrompt, newest]) {
    const words = taken === null ? null : wordsAlong(taken, text);
    if (words !== null) return words;
  }
  return null;
}

/** Describes the words of `typedAlong` for people. */
export function describeAlong(along: string): string {
  return `a person typed at that moment, and ${JSON.stringify(along.slice(0, maxQuoted))} went along`;
}

/**
 * The proof, for people, that the tool took another text than the typed one; null without proof. Since a
 * caller would submit the text again, a possible late frame, older prompt or other spelling of the text is
 * not proof.
 */
function takenInstead(
  seen: Observed,
  { text, before, joined, shownBefore, opensList }: SubmissionFacts,
): string | null {
  const { report, otherPrompt, shown, state } = seen;
  if (joined || report === "exact" || isCommandName(text)) return null;
  const held = before.surface.pending_input !== "no" || isWorking(before);
  const newest = held || shown.newestPrompt === shownBefore.newestPrompt ? null : shown.newestPrompt;
  const taken = [otherPrompt, newest].find((one) => one !== null && isAnotherText(one, text));
  if (taken) return `the tool took another text: ${JSON.stringify(taken.slice(0, maxQuoted))}`;
  const isReset = opensList && shown.untouched && !shownBefore.untouched && shown.newestPrompt === null;
  return isReset && !isWorking(state)
    ? "the tool took another text: it began a new conversation, in which the text is not"
    : null;
}

function lastLook(at: { echo: boolean; shown: Shown }): SubmissionStep {
  return { state: { at: "last_look", ...at }, effects: [{ do: "look" }] };
}

function afterLastEnter(
  { echo, shown }: Extract<SubmissionState, { at: "last_look" }>,
  seen: Observed,
  facts: SubmissionFacts,
): SubmissionStep {
  if (wasTaken({ ...seen, echo, before: facts.before }))
    return submitted(shown, seen, facts, `${describeProof(seen)} after the last Enter`);
  const rest = decideEnter({ press: facts.proofMs.length, shown, moved: 0 }, seen, facts);
  if (rest.do === "clear") return clear(rest.why);
  // A person continued to type, and the tool may be slow to show that it took the text.
  if (rest.do === "replaced") {
    return {
      state: { at: "awaiting_work", echo, shown },
      effects: [{ do: "await_work", withinMs: lastProofMs }],
    };
  }
  return hasDraft(seen.state) ? clear({ cause: "untaken" }) : failed(true, notSeen);
}

function clear(why: ClearReason): SubmissionStep {
  return { state: { at: "clearing", why }, effects: [{ do: "clear" }] };
}

const person = "a person was typing at the same moment";
const takenOut = "the text was taken out of the composer";
const otherInstance = "the tool was restarted meanwhile";

function afterClearing(why: ClearReason, empty: boolean): SubmissionStep {
  switch (why.cause) {
    case "person":
      return empty
        ? { state: { at: "restoring" }, effects: [{ do: "restore", words: why.words }] }
        : failed(true, `${person}; the text is still in the composer`);
    case "withdrawn": {
      const rest = empty
        ? "the text was cleared and Enter was not pressed"
        : "the text is still there, without Enter";
      return notSubmitted(empty, `${why.detail}; ${rest}`);
    }
    case "unread":
      return done({ outcome: "failed", typed: true, detail: unreadText, left: true });
    case "untaken": {
      const rest = empty ? "the text was cleared from the composer" : "the text is still in the composer";
      return notSubmitted(empty, `Enter was not taken; ${rest}`);
    }
  }
}

function done(outcome: DispatchOutcome): SubmissionStep {
  return { state: { at: "done", outcome }, effects: [] };
}

function notSubmitted(empty: boolean, detail: string): SubmissionStep {
  return empty ? failed(false, detail) : done({ outcome: "failed", typed: true, detail, left: true });
}

function failed(typed: boolean, detail: string): SubmissionStep {
  return done({ outcome: "failed", typed, detail });
}

function submitted(shown: Shown, seen: Observed, facts: SubmissionFacts, proof: string): SubmissionStep {
  const { behind } = shown;
  const along = typedAlong(seen, facts);
  const quoted = behind === null ? null : JSON.stringify(behind.slice(0, maxQuoted));
  const other = seen.report === "other" ? "; the tool reported that it took another text" : "";
  const more = quoted === null ? other : `; behind the text was ${quoted}${other}`;
  const { state, report, sawActivity } = seen;
  const note = { baseline: projectionOf(facts.before), sawActivity, command: isCommand(facts.text) };
  const asked = report !== "exact" && state.awaiting_decision !== undefined && !isWorking(state);
  return {
    state: { at: "done", outcome: { outcome: "submitted", note, asked } },
    effects: [
      {
        do: "prove",
        step: "submitted",
        proof: `${proof}${along === null ? more : `; ${describeAlong(along)}`}`,
        ...(along === null ? {} : { along }),
      },
    ],
  };
}

type EnterDecision =
  | { do: "press"; shown: Shown }
  /** The tool has taken the text, or will never take it. */
  | { do: "stop" }
  /** The pane runs another program than the tool: Enter could make a shell run the text. */
  | { do: "gone" }
  /** Enter would answer a question. */
  | { do: "leave" }
  /** Other words replaced the text, which was visible before. */
  | { do: "replaced" }
  | { do: "clear"; why: ClearReason };

function decideEnter(
  { press, shown, moved }: { press: number; shown: Shown; moved: number },
  { state, draft: drafted, shown: beside }: Observed,
  { before, text, proved, joined }: SubmissionFacts,
): EnterDecision {
  if (press === 0 && hasEnded(state)) return { do: "gone" };
  if (press === 0 && cameUp(before, state)) return { do: "leave" };
  const mode = closedMode(state);
  if (mode !== null) {
    return withdraw(`the composer is in ${mode} mode, where the text would not be a prompt`);
  }
  if (press === 0 && !proved && !hasDraft(state)) {
    return withdraw("the composer does not show the text, and this version of the tool is unproved");
  }
  if (press > 0 && (!hasDraft(state) || state.awaiting_decision)) return { do: "stop" };
  if (joined) return { do: "press", shown };
  const draft = drafted ?? "";
  const words = personsWords(draft, text);
  if (words !== null) return { do: "clear", why: { cause: "person", words } };
  // A hint of the tool may follow a command.
  if (isCommand(text)) return { do: "press", shown };
  const now: Shown = { whole: holdsText(draft, text), behind: wordsBehind(draft, text) };
  if (press > 0 && shown.whole && !now.whole && draft !== "") return { do: "replaced" };
  // Words before the cursor are a person's, and so are words that appeared after the first look. Other words
  // may be a hint of the tool.
  const isTyped = beside.cursorAtEnd || ((press > 0 || moved > 0) && now.behind !== shown.behind);
  if (now.behind !== null && isTyped) {
    return { do: "clear", why: { cause: "person", words: now.behind } };
  }
  return { do: "press", shown: now };
}

function withdraw(detail: string): EnterDecision {
  return { do: "clear", why: { cause: "withdrawn", detail } };
}

/** Whether both instances are known and differ. */
function isOtherInstance(seen: Observed, facts: SubmissionFacts): boolean {
  return seen.instanceId !== null && facts.instanceId !== null && seen.instanceId !== facts.instanceId;
}
