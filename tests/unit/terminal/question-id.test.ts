import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { chooseOption } from "../../../src/services/agent/decision.ts";
import { detect } from "../../../src/services/terminal/detect.ts";
import { observedFields } from "../../../src/services/terminal/record.ts";
import { reduce } from "../../../src/services/terminal/reduce.ts";
import { initialTrack, type Moment, type TrackState } from "../../../src/services/terminal/reduce-state.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
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
              ...{ kind: "observed", at: at(index * 1000), observation: screen },
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
