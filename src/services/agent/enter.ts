import type { TerminalState } from "../../protocol/terminal.ts";
import { holdsText, personsWords, wordsBehind } from "./left-draft.ts";
import { cameUp, closedMode, hasDraft, hasEnded, isCommand } from "./seen.ts";

/** What the composer showed when Enter was last pressed. */
export interface Shown {
  /** The whole text was to be seen. */
  whole: boolean;
  /** Words behind it: a person's last letters, or a hint of the tool's. */
  behind: string | null;
}

export type EnterDecision =
  | { do: "press"; shown: Shown }
  /** It was taken meanwhile, or never will be. */
  | { do: "stop" }
  /** What stands in the pane now is not the tool: Enter could make a shell run the text. */
  | { do: "gone" }
  /** Enter would answer a question. */
  | { do: "leave" }
  | { do: "take_back"; words: string }
  /** The text that was to be seen is not there any more, and somebody else's words are. */
  | { do: "replaced" }
  /** Enter would submit the text as something else than a prompt, or it is not known as what. */
  | { do: "withdraw"; why: string };

/** What to do now that Enter would be pressed for the (`press` + 1)-th time; `draft`: what the composer shows. Pure. */
export function decideEnter(facts: {
  press: number;
  before: TerminalState;
  state: TerminalState;
  draft: string | null;
  text: string;
  shown: Shown;
  /** Somebody else's draft stood there before the text; the caller judged that it may be submitted with it. */
  joined: boolean;
  /** The tool's version is among those that its profile was proved on, or is not known. */
  proved: boolean;
}): EnterDecision {
  const { press, before, state, text, shown } = facts;
  if (press === 0 && hasEnded(state)) return { do: "gone" };
  if (press === 0 && cameUp(before, state)) return { do: "leave" };
  const mode = closedMode(state);
  if (mode !== null) {
    return { do: "withdraw", why: `the composer is in ${mode} mode, where the text would not be a prompt` };
  }
  if (press === 0 && !facts.proved && !hasDraft(state)) {
    return {
      do: "withdraw",
      why: "the composer does not show the text, and this version of the tool is unproved",
    };
  }
  if (press > 0 && !mayPressAgain(state)) return { do: "stop" };
  if (facts.joined) return { do: "press", shown };
  const draft = facts.draft ?? "";
  const words = personsWords(draft, text);
  if (words !== null) return { do: "take_back", words };
  // A command may be followed by a hint of the tool's.
  if (isCommand(text)) return { do: "press", shown };
  const now: Shown = { whole: holdsText(draft, text), behind: wordsBehind(draft, text) };
  if (press > 0 && shown.whole && !now.whole && draft !== "") return { do: "replaced" };
  // What came up behind the text since an Enter that the tool swallowed is no hint, but a person who types.
  if (press > 0 && now.behind !== null && now.behind !== shown.behind) {
    return { do: "take_back", words: now.behind };
  }
  return { do: "press", shown: now };
}

function mayPressAgain(state: TerminalState): boolean {
  return hasDraft(state) && !state.awaiting_decision;
}
