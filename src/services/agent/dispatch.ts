import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import type { PaneWriter } from "../terminal/pane-door.ts";
import type { CompiledProfile } from "../terminal/profile.ts";
import { isProvedVersion } from "../terminal/tool-version.ts";
import { decideEnter, type Shown } from "./enter.ts";
import {
  cameUp,
  closedMode,
  describeProof,
  hasDraft,
  hasEnded,
  isCommand,
  isWorking,
  projectionOf,
  wasTaken,
} from "./seen.ts";
import { enterDelayMs, pastesOf } from "./submission.ts";
import { awaitState, type PromptNote, type TerminalView } from "./terminal-view.ts";

export type DispatchOutcome =
  /** `asked`: the only proof is a question that came up; the tool may hand the text back once it is answered. */
  | { outcome: "submitted"; note: PromptNote; asked: boolean }
  /** `disturbed`: only because a person typed at that moment; their words stand again, the text is gone. */
  | { outcome: "failed"; typed: boolean; detail: string; disturbed?: true };

/** How long the composer may take to show what was pasted. Not fatal: some tools repaint late. */
const echoMs = 2000;
/** After the last Enter, how long the tool may take to show that it took the text. */
const lastChanceMs = 3000;
/** How long a composer that does not show the text may be half repainted. */
const repaintMs = 1000;
/** Of words that went out with a prompt so many characters are told. */
const maxTold = 40;
const exactReport = "the tool reported exactly this text";
const startedAnew = "the tool was started anew meanwhile";
const replaced = "other words stand in the composer where the text stood; whether it was taken is not known";
const questionFirst = "a question came up before Enter";
/** A draft of many rows needs one clearing key a row in some tools. */
const clearAttempts = 12;

export interface DispatchDeps {
  view: TerminalView;
  clock: Clock;
  profile: CompiledProfile;
  pane: PaneWriter;
  onEvidence: (evidence: Omit<Evidence, "at_utc">) => void;
}

/**
 * Types `text` into a composer that was just found fit for it, presses Enter, and proves that the tool took it:
 * the tool reports exactly this text, the draft is gone from the composer, or work, a queue or a question showed up. A
 * swallowed Enter is pressed
 * again, only while the same draft still stands there and nothing asks a question. A tool that ends before Enter gets none,
 * and one that ends at it must have been seen to work, or the prompt failed. Text that met a person's first letters is
 * taken back before any Enter. A question that comes up before the first Enter gets none: the text waits behind it, to
 * be handed back. The text is never pasted twice; a draft that will not go is cleared. Source: spec/terminal.md 6.
 */
export async function dispatchText(deps: DispatchDeps, text: string): Promise<DispatchOutcome> {
  const { view, clock, profile, pane } = deps;
  const before = view.state();
  const life = view.instanceId();
  const pastedAtMs = clock.monotonicMs();
  const activity = watchActivity(view, before);
  view.promptTyped(text, isCommand(text));
  try {
    await pane.paste(...pastesOf(text, profile, before.tracked_session.observed_tool_version));
    const shown = await awaitState(view, clock, (state) => hasDraft(state) || cameUp(before, state), echoMs);
    const echo = shown !== null && hasDraft(shown);
    deps.onEvidence({
      step: "typed",
      proof: echo ? "the composer shows the text" : "handed to the terminal; no echo seen",
    });
    await sleep(clock, pastedAtMs + enterDelayMs(text, profile) - clock.monotonicMs());
    return await submitDraft(deps, {
      text,
      before,
      life,
      echo,
      joined: hasDraft(before),
      sawActivity: activity.seen,
    });
  } finally {
    activity.end();
  }
}

/**
 * Presses Enter for `text`, which stands in the composer, until the tool is seen to take it. `before`: the state
 * that the proof is measured against. `echo`: the text was seen in the composer.
 */
export async function submitDraft(
  deps: DispatchDeps,
  facts: {
    text: string;
    before: TerminalState;
    /** The instance of the tool that was given the text. */
    life: string | null;
    echo: boolean;
    /** The text stands behind somebody else's draft. */
    joined: boolean;
    sawActivity: () => boolean;
  },
): Promise<DispatchOutcome> {
  const { view, clock, profile, pane } = deps;
  const { text, before, echo, joined } = facts;
  const proved = isProvedVersion(profile, before.tracked_session.observed_tool_version);
  const reported = () => view.typedReport() === "exact";
  const taken = (state: TerminalState) => reported() || wasTaken({ before, echo, state });
  let shown: Shown = { whole: false, behind: null };
  const submitted = (state: TerminalState, proof: string): DispatchOutcome => {
    const { behind } = shown;
    const more = behind === null ? "" : `; behind the text stood ${JSON.stringify(behind.slice(0, maxTold))}`;
    const other = view.typedReport() === "other" ? "; the tool reported that it took another text" : "";
    deps.onEvidence({ step: "submitted", proof: `${proof}${more}${other}` });
    return {
      outcome: "submitted",
      note: {
        baseline: projectionOf(before),
        sawActivity: facts.sawActivity(),
        command: isCommand(text),
      },
      asked: !reported() && state.awaiting_decision !== undefined && !isWorking(state),
    };
  };
  const proofIn = (state: TerminalState) => (reported() ? exactReport : describeProof(state));
  const pauses = [...profile.data.submit.enter_retry_after_ms, lastChanceMs];
  for (const [press, pauseMs] of pauses.entries()) {
    const first = await view.look();
    // A half repainted frame shows no draft; only an unproved version must show it before the first Enter.
    const mayBeTorn = press === 0 && !proved && !hasDraft(first) && !hasEnded(first);
    const state = mayBeTorn
      ? ((await awaitState(view, clock, hasDraft, repaintMs)) ?? (await view.look()))
      : first;
    // What a fresh instance shows proves nothing of a text that the former one was given.
    if (isAnother(view.instanceId(), facts.life))
      return { outcome: "failed", typed: true, detail: startedAnew };
    // A person may have pressed Enter before us, and a tool report a swallowed one after all.
    if (reported()) return submitted(state, exactReport);
    const decision = decideEnter({ press, before, state, draft: view.draft(), text, shown, joined, proved });
    if (decision.do === "stop" || decision.do === "replaced") break;
    if (decision.do === "gone")
      return { outcome: "failed", typed: true, detail: "the tool ended before Enter" };
    if (decision.do === "take_back") return takeBack(deps, decision.words);
    if (decision.do === "withdraw") return withdraw(deps, decision.why);
    if (decision.do === "leave") {
      if (isCommand(text)) return { outcome: "failed", typed: true, detail: questionFirst };
      return submitted(state, `${questionFirst}; the text waits behind it`);
    }
    shown = decision.shown;
    await pane.keys([{ kind: "key", name: "Enter" }]);
    await view.look();
    const proof = await awaitState(view, clock, taken, pauseMs);
    if (isAnother(view.instanceId(), facts.life))
      return { outcome: "failed", typed: true, detail: startedAnew };
    if (proof && hasEnded(proof) && !reported() && !isCommand(text) && !facts.sawActivity()) {
      return { outcome: "failed", typed: true, detail: `the tool ended at Enter and was not seen to work` };
    }
    if (proof) return submitted(proof, `${proofIn(proof)} after Enter ${press + 1}`);
  }
  const last = await view.look();
  if (taken(last)) return submitted(last, `${proofIn(last)} after the last Enter`);
  const rest = decideEnter({
    press: pauses.length,
    before,
    state: last,
    draft: view.draft(),
    text,
    shown,
    joined,
    proved,
  });
  if (rest.do === "take_back") return takeBack(deps, rest.words);
  if (rest.do === "withdraw") return withdraw(deps, rest.why);
  if (rest.do === "replaced") {
    // Somebody types on while the tool may be slow to show that it took the text.
    const begun = (state: TerminalState) => !isWorking(before) && isWorking(state);
    const works = await awaitState(view, clock, (state) => taken(state) || begun(state), lastChanceMs);
    if (works && !isAnother(view.instanceId(), facts.life)) return submitted(works, proofIn(works));
    return { outcome: "failed", typed: true, detail: replaced };
  }
  const cleared = hasDraft(last) ? await clearDraft(deps) : true;
  return {
    outcome: "failed",
    typed: !cleared,
    detail: `Enter was not taken${cleared ? "; the text was cleared from the composer" : "; the text still stands in the composer"}`,
  };
}

/** Both are known, and they differ. */
function isAnother(now: string | null, life: string | null): boolean {
  return now !== null && life !== null && now !== life;
}

/** Takes the text out of a composer in which a person had begun to type, and leaves their words there. */
async function takeBack(deps: DispatchDeps, words: string): Promise<DispatchOutcome> {
  const detail = "a person was typing at the same moment";
  if (!(await clearDraft(deps))) {
    return { outcome: "failed", typed: true, detail: `${detail}; the text still stands in the composer` };
  }
  await deps.pane.keys([{ kind: "text", text: words }]);
  await deps.view.look();
  return {
    outcome: "failed",
    typed: false,
    detail: `${detail}; the text was taken out of the composer`,
    disturbed: true,
  };
}

/** Takes text that must not be submitted out of the composer. */
async function withdraw(deps: DispatchDeps, why: string): Promise<DispatchOutcome> {
  const cleared = await clearDraft(deps);
  const rest = cleared
    ? "the text was cleared and Enter was not pressed"
    : "the text still stands there, without Enter";
  return { outcome: "failed", typed: !cleared, detail: `${why}; ${rest}` };
}

/** Whether the tool, idle in `before`, was seen to work at any moment since the call, until `end`. */
export function watchActivity(view: TerminalView, before: TerminalState) {
  const wasActive = isWorking(before);
  let saw = false;
  const end = view.subscribe((state) => {
    saw ||= !wasActive && isWorking(state);
  });
  return { seen: () => saw, end };
}

/** Types without being able to read the tool's screen: nothing is proved beyond the bytes. */
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
 * Presses the tool's clearing key until the composer is empty, and leaves a mode in which its text is no prompt: an
 * empty shell line of claude 2.1.330 ends with Backspace. False when it will not be empty.
 */
export async function clearDraft(
  deps: Pick<DispatchDeps, "view" | "clock" | "profile" | "pane">,
): Promise<boolean> {
  for (let attempt = 0; attempt < clearAttempts; attempt++) {
    await deps.pane.keys([{ kind: "key", name: "C-u" }]);
    const state = await deps.view.look();
    if (closedMode(state) !== null) await deps.pane.keys([{ kind: "key", name: "BSpace" }]);
    if (await awaitState(deps.view, deps.clock, (now) => !hasDraft(now), 150)) return true;
  }
  return false;
}
