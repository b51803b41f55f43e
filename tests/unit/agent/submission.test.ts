import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import {
  beginAtDraft,
  beginPaste,
  type Observed,
  type SubmissionEvent,
  type SubmissionFacts,
  type SubmissionState,
  transition,
} from "../../../src/services/agent/submission.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

const { deps } = createFakeComposer();
const empty = deps.view.state();
const withDraft: TerminalState = { ...empty, surface: { ...empty.surface, editing_input: "yes" } };
const working: TerminalState = { ...empty, active_reasons: ["status_row"] };
const asking: TerminalState = {
  ...empty,
  awaiting_decision: { kind: "selection_menu", question: "May I?", options: [] },
};
const ended: TerminalState = { ...empty, diagnostics: { ...empty.diagnostics, process_state: "tui_down" } };

const nothing = { offered: null, newestPrompt: null, untouched: false, cursorAtEnd: false, cursor: null };

const facts: SubmissionFacts = {
  text: "do it",
  before: empty,
  instanceId: "one",
  joined: false,
  proved: true,
  proofMs: [100, 200],
  shownBefore: nothing,
  opensList: false,
};
const command: SubmissionFacts = { ...facts, text: "/exit" };
const unproved: SubmissionFacts = { ...facts, proved: false };

const seen = (state: TerminalState, draft: string | null, more: Partial<Observed> = {}): Observed => ({
  state,
  draft,
  instanceId: "one",
  report: null,
  otherPrompt: null,
  shown: nothing,
  sawActivity: false,
  ...more,
});
const standing = seen(withDraft, "do it");
const looked = (it: Observed): SubmissionEvent => ({ event: "looked", seen: it });
const found = (it: Observed): SubmissionEvent => ({ event: "awaited", found: true, seen: it });
const none = (it: Observed): SubmissionEvent => ({ event: "awaited", found: false, seen: it });

const unseen = { whole: false, behind: null };
const whole = { whole: true, behind: null };
const looking = (press = 0, shown = press === 0 ? unseen : whole): SubmissionState => ({
  at: "looking",
  press,
  echo: true,
  shown,
  repainted: false,
});
const proving = (press = 0): SubmissionState => ({ at: "proving", press, echo: true, shown: whole });
const lastLook: SubmissionState = { at: "last_look", echo: true, shown: whole };
const awaitingWork: SubmissionState = { at: "awaiting_work", echo: true, shown: whole };

/** The next state and the last effect, as one line. */
function next(state: SubmissionState, event: SubmissionEvent, given = facts): string {
  const step = transition(state, event, given);
  const effect = step.effects.at(-1);
  const what =
    effect?.do === "prove"
      ? effect.proof
      : effect?.do === "restore"
        ? `put back "${effect.words}"`
        : effect?.do;
  if (step.state.at !== "done") return `${step.state.at}: ${what}`;
  const { outcome } = step.state;
  if (outcome.outcome === "submitted") return `submitted${outcome.asked ? ", asked" : ""}: ${what}`;
  return `failed, ${outcome.typed ? "typed" : "clean"}: ${outcome.detail}`;
}

const cases: [id: string, got: string, want: string][] = [
  [
    "the pasted text is seen",
    next({ at: "pasting" }, { event: "pasted", found: withDraft, moved: true }),
    "settling: rest",
  ],
  [
    "the pasted text is not seen",
    next({ at: "pasting" }, { event: "pasted", found: null, moved: true }),
    "settling: rest",
  ],
  [
    "the screen has not changed at all",
    next({ at: "pasting" }, { event: "pasted", found: null, moved: false }),
    "unread: await_change",
  ],
  ["it changes at last", next({ at: "unread" }, found(standing)), "settling: rest"],
  ["it never changes", next({ at: "unread" }, none(seen(empty, ""))), "clearing: clear"],
  [
    "and the clearing keys are sent after the text",
    next({ at: "clearing", why: { cause: "unread" } }, { event: "cleared", empty: true }),
    "failed, typed: the tool did not react to the text for 60 s; Enter was not pressed",
  ],
  ["it has settled", next({ at: "settling", echo: true }, { event: "rested" }), "looking: look"],

  ["the text stands there", next(looking(), looked(standing)), "proving: press_enter"],
  ["it is not seen in a proved version", next(looking(), looked(seen(empty, ""))), "proving: press_enter"],
  ["the frame may be torn", next(looking(), looked(seen(empty, "")), unproved), "repainting: await_draft"],
  [
    "the draft comes up after a repaint",
    next({ at: "repainting", echo: false, shown: unseen }, found(standing), unproved),
    "proving: press_enter",
  ],
  [
    "no draft comes up",
    next({ at: "repainting", echo: false, shown: unseen }, none(seen(empty, "")), unproved),
    "looking: look",
  ],
  [
    "an unproved version still shows none",
    next({ ...looking(), repainted: true } as SubmissionState, looked(seen(empty, "")), unproved),
    "clearing: clear",
  ],
  [
    "the tool has ended",
    next(looking(), looked(seen(ended, null))),
    "failed, typed: the tool ended before Enter",
  ],
  [
    "another instance runs",
    next(looking(), looked(seen(withDraft, "do it", { instanceId: "two" }))),
    "failed, typed: the tool was restarted meanwhile",
  ],
  [
    "the tool reports the text already",
    next(looking(), looked(seen(empty, "", { report: "exact" }))),
    "submitted: the tool reported exactly this text",
  ],
  [
    "a question came up",
    next(looking(), looked(seen(asking, null))),
    "submitted, asked: a question came up before Enter; the text waits behind it",
  ],
  [
    "a question came up before a command",
    next(looking(), looked(seen(asking, null)), command),
    "failed, typed: a question came up before Enter",
  ],
  ["a person typed before it", next(looking(), looked(seen(withDraft, "no do it"))), "clearing: clear"],
  [
    "somebody's draft is submitted with it",
    next(looking(), looked(seen(withDraft, "no do it")), { ...facts, joined: true }),
    "proving: press_enter",
  ],
  ["the second Enter finds the text", next(looking(1), looked(standing)), "proving: press_enter"],
  ["the second Enter finds no draft", next(looking(1), looked(seen(empty, ""))), "last_look: look"],
  [
    "the second Enter finds other words",
    next(looking(1), looked(seen(withDraft, "what"))),
    "last_look: look",
  ],
  [
    "a person typed behind it after the first Enter",
    next(looking(1), looked(seen(withDraft, "do it now"))),
    "clearing: clear",
  ],

  ["the tool works", next(proving(), found(seen(working, ""))), "submitted: the tool works after Enter 1"],
  [
    "the composer is empty",
    next(proving(1), found(seen(empty, ""))),
    "submitted: the composer is empty again after Enter 2",
  ],
  [
    "the tool asks",
    next(proving(), found(seen(asking, ""))),
    "submitted, asked: the tool asks a question after Enter 1",
  ],
  [
    "the tool reports another text",
    next(proving(), found(seen(working, "", { report: "other" }))),
    "submitted: the tool works after Enter 1; the tool reported that it took another text",
  ],
  [
    "the tool ended at Enter",
    next(proving(), found(seen(ended, null))),
    "failed, typed: the tool ended at Enter and was not seen to work",
  ],
  [
    "the tool ended at Enter after work",
    next(proving(), found(seen(ended, null, { sawActivity: true }))),
    "submitted: the tool ended after Enter 1",
  ],
  [
    "a command ends the tool",
    next(proving(), found(seen(ended, null)), command),
    "submitted: the tool ended after Enter 1",
  ],
  ["no proof after the first Enter", next(proving(0), none(standing)), "looking: look"],
  ["no proof after the last Enter", next(proving(1), none(standing)), "last_look: look"],

  [
    "the last look proves it",
    next(lastLook, looked(seen(working, ""))),
    "submitted: the tool works after the last Enter",
  ],
  [
    "neither the text nor work is visible",
    next({ ...lastLook, echo: false } as SubmissionState, looked(seen(empty, ""))),
    "failed, typed: whether the tool took the text is not known: neither is visible",
  ],
  ["the text still stands there", next(lastLook, looked(standing)), "clearing: clear"],
  ["other words stand there", next(lastLook, looked(seen(withDraft, "what"))), "awaiting_work: await_work"],
  ["the tool works at last", next(awaitingWork, found(seen(working, "what"))), "submitted: the tool works"],
  [
    "it never works",
    next(awaitingWork, none(seen(withDraft, "what"))),
    "failed, typed: other words replaced the text in the composer; whether it was taken is not known",
  ],

  [
    "a person's words go back",
    next({ at: "clearing", why: { cause: "person", words: "no" } }, { event: "cleared", empty: true }),
    'restoring: put back "no"',
  ],
  [
    "the composer does not clear of a person's words",
    next({ at: "clearing", why: { cause: "person", words: "no" } }, { event: "cleared", empty: false }),
    "failed, typed: a person was typing at the same moment; the text is still in the composer",
  ],
  [
    "the words are back",
    next({ at: "restoring" }, { event: "restored" }),
    "failed, clean: a person was typing at the same moment; the text was taken out of the composer",
  ],
  [
    "a withdrawn text is cleared",
    next({ at: "clearing", why: { cause: "withdrawn", detail: "why" } }, { event: "cleared", empty: true }),
    "failed, clean: why; the text was cleared and Enter was not pressed",
  ],
  [
    "an untaken text is cleared",
    next({ at: "clearing", why: { cause: "untaken" } }, { event: "cleared", empty: true }),
    "failed, clean: Enter was not taken; the text was cleared from the composer",
  ],
  [
    "an untaken text stays",
    next({ at: "clearing", why: { cause: "untaken" } }, { event: "cleared", empty: false }),
    "failed, typed: Enter was not taken; the text is still in the composer",
  ],
];

describe("a submission", () => {
  test.each(cases)("%s", (_, got, want) => expect(got).toBe(want));

  test("of a new text begins with its paste, of one that is there with a look", () => {
    expect([beginPaste(), beginAtDraft()].map(({ state, effects }) => [state.at, effects[0]?.do])).toEqual([
      ["pasting", "paste"],
      ["looking", "look"],
    ]);
  });

  test("waits for the proof as long as each Enter is given", () => {
    const waits = [0, 1].map((press) => transition(looking(press), looked(standing), facts).effects[0]);
    expect(waits).toEqual([
      { do: "press_enter", proofMs: 100, at: null },
      { do: "press_enter", proofMs: 200, at: null },
    ]);
  });

  test("refuses an event that answers nothing", () => {
    expect(() => transition({ at: "pasting" }, { event: "rested" }, facts)).toThrow("does not expect rested");
    expect(() => transition(proving(), looked(standing), facts)).toThrow("does not expect looked");
  });
});
