import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import type { ToolReport } from "../../../src/protocol/tool-report.ts";
import { chooseOption } from "../../../src/services/agent/decision.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { keyOfText } from "../../../src/services/terminal/keys.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { observedFields } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import {
  initialTrack,
  type Moment,
  type TrackEvent,
  type TrackState,
} from "../../../src/services/terminal/state/reduce-state.ts";
import { sampleReport } from "../../support/sample-report.ts";
import { compiled } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";

const at = (ms: number): Moment => ({ wallMs: Date.UTC(2026, 10, 21) + ms, monotonicMs: ms });
const idle = demoScreen();
const ask = (question: string, selected = 1) => demoDialog(question, ["Yes", "No"], selected);

/** The screens a second apart, `null` for one that tmux could not give; what is asked after the last. */
function asked(...screens: (Observation | null)[]) {
  const state = screens.reduce<TrackState>(
    (before, screen, index) =>
      reduce(
        before,
        screen
          ? {
              kind: "observed",
              at: at(index * 1000),
              observation: screen,
              signals: detect(screen, compiled("demo")),
            }
          : {
              kind: "probe_failed",
              at: at(index * 1000),
              error: { kind: "tmux", message: "no answer", details: {} },
            },
        defaultTimings,
      ),
    initialTrack(at(0)),
  );
  return observedFields(state).awaiting_decision;
}

describe("the id of a question", () => {
  test("stays while the question is asked, whatever option is marked, and says since when", () => {
    const first = asked(idle, ask("Go on?"));
    expect(first).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      since_utc: expect.any(String),
    });
    for (const later of [
      asked(idle, ask("Go on?"), ask("Go on?", 2)),
      asked(idle, ask("Go on?"), null, ask("Go on?")),
    ]) {
      expect([later?.id, later?.since_utc]).toEqual([first?.id, first?.since_utc]);
    }
  });

  test("is the same for a gateway that finds the question on the screen", () => {
    expect(asked(ask("Go on?"))?.id).toBe(asked(idle, ask("Other?"), idle, ask("Go on?"))?.id as string);
  });

  test("is another for another question, also without a screen between", () => {
    expect(asked(ask("Go on?"), ask("Other?"))?.id).not.toBe(asked(ask("Go on?"))?.id);
  });

  test("is another for the same question after an answer, each time", () => {
    const rounds = [ask("Go on?"), idle, ask("Go on?"), idle, ask("Go on?")];
    const ids = [1, 3, 5].map((count) => asked(...rounds.slice(0, count))?.id);
    expect(new Set(ids).size).toBe(3);
  });

  test("of the same words over another command is another", () => {
    const over = (command: string) => demoDialog("Do you want to proceed?", ["Yes", "No"], 1, [command]);
    expect(asked(over("rm -r build"))?.id).not.toBe(asked(over("touch build"))?.id);
  });
});

/** A list without the title of a question, under `transcript`. */
const list = (transcript: readonly string[] = [], question = "Select model") =>
  demoDialog(question, ["small", "large"], 1, transcript, null);
const typing = (text: string) => demoScreen({ draft: [text] });

type Step = Observation | Exclude<TrackEvent, { kind: "observed" }>;
const key = keyOfText("fix it");
const typed: Step = { kind: "prompt_typed", at: at(0), key, command: false };
const noted: Step = {
  kind: "prompt_noted",
  at: at(0),
  baseline: null,
  sawActivity: false,
  command: false,
};
const reported = (kind: ToolReport["kind"]): Step => ({
  kind: "reported",
  at: at(0),
  report: sampleReport({ kind, message: "Which model?" }),
});

/** Whose the list is that is on the screen after the steps, a second apart. */
function openedBy(...steps: Step[]): "person" | "agent" | "nobody" {
  const state = steps.reduce<TrackState>(
    (before, step, index) => {
      const moment = at((index + 1) * 1000);
      const event: TrackEvent =
        "kind" in step
          ? { ...step, at: moment }
          : { kind: "observed", at: moment, observation: step, signals: detect(step, compiled("demo")) };
      return reduce(before, event, defaultTimings);
    },
    initialTrack(at(0)),
  );
  const { awaiting_decision: asked } = observedFields(state);
  return asked === undefined ? "nobody" : (asked.opened_by ?? "agent");
}

describe("a list on the screen", () => {
  const said = ["❯ hello", "● hi"];
  const rested = demoScreen({ transcript: said });
  const cases: { id: string; steps: Step[]; want: "person" | "agent" }[] = [
    { id: "of a command that somebody typed", steps: [idle, typing("/model"), list()], want: "person" },
    {
      id: "that is the next page of such a list",
      steps: [idle, typing("/model"), list(), list([], "Select effort")],
      want: "person",
    },
    { id: "of a key of the tool", steps: [rested, rested, list(said)], want: "person" },
    {
      id: "of such a key after a frame that cannot be read",
      steps: [rested, rested, demoScreen({ transcript: said, title: "x" }), list(said)],
      want: "person",
    },
    { id: "right after our prompt", steps: [idle, typed, typing("fix it"), list()], want: "agent" },
    { id: "right after our command", steps: [idle, typed, typing("/model"), list()], want: "agent" },
    {
      id: "right after our prompt, which is then noted",
      steps: [idle, typed, typing("fix it"), list(), noted],
      want: "agent",
    },
    {
      id: "right after the prompt that somebody typed",
      steps: [idle, typing("fix it"), list(["❯ fix it"])],
      want: "agent",
    },
    { id: "right after a prompt that nobody saw typed", steps: [idle, list(["❯ fix it"])], want: "agent" },
    {
      id: "in the middle of a turn",
      steps: [idle, typing("/model"), demoScreen({ busySeconds: 1 }), list()],
      want: "agent",
    },
    {
      id: "with the title of a question",
      steps: [idle, typing("/model"), demoDialog("Go on?", ["Yes", "No"], 1)],
      want: "agent",
    },
    {
      id: "that asks for trust",
      steps: [
        idle,
        typing("/model"),
        demoDialog("Do you trust this folder?", ["Yes, go on", "No"], 1, [], null),
      ],
      want: "agent",
    },
    { id: "that a gateway finds when it starts", steps: [list()], want: "agent" },
    {
      id: "that the tool reports as its question",
      steps: [idle, typing("/model"), list(), reported("question_asked")],
      want: "agent",
    },
    {
      id: "in a turn whose begin the tool reports",
      steps: [idle, typing("/model"), list(), reported("prompt_submitted")],
      want: "agent",
    },
  ];
  test.each(cases)("$id", ({ steps, want }) => {
    expect(openedBy(...steps)).toBe(want);
  });

  test("is a question again for the one that comes after it", () => {
    expect(openedBy(idle, typing("/model"), list(), idle, typing("fix it"), list(["❯ fix it"]))).toBe(
      "agent",
    );
  });
});

test("an answer to the id of another question is refused", () => {
  const decision = {
    kind: "selection_menu",
    question: "Go on?",
    id: "b",
    options: [{ index: 1, text: "Yes", selected: true }],
  };
  expect(chooseOption(decision, { option: 1, question: "Go on?", id: "b" })).toEqual({
    index: 1,
    text: "Yes",
  });
  expect(() => chooseOption(decision, { option: 1, question: "Go on?", id: "a" })).toThrow(
    "another question",
  );
});
