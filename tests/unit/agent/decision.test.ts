import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { answerDecision } from "../../../src/services/agent/decision.ts";
import { profileFor } from "../../../src/services/terminal/profiles/profile.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

const profile = (() => {
  const found = profileFor("claude");
  if (!found) throw new Error("no profile of claude");
  return found;
})();

/** The question about the folder; `onEnter` is what each Enter does to it, given how many came before. */
function asked(
  onEnter: (earlier: number, show: (text: string | null) => void) => void,
  drawn: Partial<TerminalState> = {},
) {
  const clock = createFakeClock();
  const listeners = new Set<(state: TerminalState, change: { material: boolean }) => void>();
  const stateOf = (text: string | null) =>
    ({
      awaiting_decision:
        text === null
          ? undefined
          : { kind: "trust_prompt", question: "Trust?", options: [{ index: 1, text, selected: true }] },
      probe_snapshot: { captured_text_hash: `hash of ${text}` },
    }) as TerminalState;
  let state = { ...stateOf("Yes"), ...drawn };
  const turn = (next: TerminalState) => {
    state = next;
    for (const tell of listeners) tell(state, { material: true });
  };
  const show = (text: string | null) => turn(stateOf(text));
  const draw = (screen: Partial<TerminalState>) => turn({ ...stateOf("Yes"), ...screen });
  let enters = 0;
  const view = {
    state: () => state,
    look: async () => state,
    dialogRule: () => "trust",
    subscribe(listener: (state: TerminalState, change: { material: boolean }) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const pane = {
    keys: async () => {
      onEnter(enters++, show);
      return true;
    },
  };
  const deps = { view, clock, profile, pane } as unknown as Parameters<typeof answerDecision>[0];
  const answer = answerDecision(deps, { option: "Yes" }).catch((error: unknown) => error);
  return { answer, clock, show, draw, enters: () => enters };
}

test("a mark that moves over a half repainted list is waited for", async () => {
  const clock = createFakeClock();
  const option = (index: number, selected: number) => ({
    index,
    text: `${index}`,
    selected: index === selected,
  });
  const stateOf = (options: object[] | null) =>
    ({
      awaiting_decision: options ? { kind: "trust_prompt", question: "Trust?", options } : undefined,
      probe_snapshot: { captured_text_hash: JSON.stringify(options) },
    }) as TerminalState;
  let state = stateOf([option(1, 1), option(2, 1)]);
  let tell: (state: TerminalState) => void = () => {};
  const show = (options: object[] | null) => {
    state = stateOf(options);
    tell(state);
  };
  const pressed: string[] = [];
  const deps = {
    clock,
    profile,
    view: {
      state: () => state,
      look: async () => state,
      dialogRule: () => "trust",
      subscribe(listener: typeof tell) {
        tell = listener;
        return () => {};
      },
    },
    pane: {
      async keys([key]: [{ name: string }]) {
        pressed.push(key.name);
        show(key.name === "Down" ? [] : null);
      },
    },
  } as unknown as Parameters<typeof answerDecision>[0];
  const answer = answerDecision(deps, { option: 2 }).catch((error: unknown) => error);
  await settle();
  await clock.advance(100);
  show([option(1, 2), option(2, 2)]);
  await settle();
  await clock.advance(60_000);
  expect([await answer, pressed]).toEqual([{ index: 2, text: "2" }, ["Down", "Enter"]]);
});

describe("after the confirming key", () => {
  test("a tool that marks the chosen option and is slow to go on has taken the answer", async () => {
    const { answer, clock, show, enters } = asked((_, show) => show("Yes ✔"));
    await settle();
    await clock.advance(3000);
    show(null);
    expect([await answer, enters()]).toEqual([{ index: 1, text: "Yes" }, 1]);
  });

  test("a question that stays on another screen is not answered again", async () => {
    const { answer, clock, enters } = asked((_, show) => show("Yes ✔"));
    await settle();
    await clock.advance(60_000);
    expect([await answer, enters()]).toEqual([
      expect.objectContaining({ message: expect.stringContaining("still asked") }),
      1,
    ]);
  });

  test("a screen that did not change at all gets the key again", async () => {
    const { answer, clock, enters } = asked((earlier, show) => earlier === 1 && show(null));
    await settle();
    await clock.advance(60_000);
    expect([await answer, enters()]).toEqual([{ index: 1, text: "Yes" }, 2]);
  });

  const dialog = (rows: readonly string[]) => {
    const text = rows.map((row) => Bun.stripANSI(row)).join("\n");
    const raw = rows.join("\n");
    return {
      parsed_surface: { dialog_text: text },
      probe_snapshot: { captured_text_hash: raw, captured_text_excerpt: raw },
    } as unknown as TerminalState;
  };
  const question = ["● Run a command", "  touch one.txt", " Proceed?", " \u001b[34m❯ 1. Yes\u001b[0m"];
  const changed = (at: number, row: string) => question.map((one, nth) => (nth === at ? row : one));
  test.each([
    {
      id: "pressed again while only the mark of the action blinks",
      rows: changed(0, "  Run a command"),
      enters: 2,
    },
    { id: "not pressed again for another command", rows: changed(1, "  touch two.txt"), enters: 1 },
    {
      id: "not pressed again on an option that is drawn otherwise",
      rows: changed(3, " ❯ 1. Yes"),
      enters: 1,
    },
    {
      id: "not pressed again when the mark of a row becomes a word",
      rows: changed(0, "A Run a command"),
      enters: 1,
    },
  ])("the key is $id", async ({ rows, enters }) => {
    const run = asked(
      (earlier, show) => (earlier === 1 ? show(null) : run.draw(dialog(rows))),
      dialog(question),
    );
    await settle();
    await run.clock.advance(60_000);
    await run.answer;
    expect(run.enters()).toBe(enters);
  });
});

describe("a question with several choices", () => {
  /**
   * What claude 2.1.331 does: Enter changes a check mark or leaves by the button, and the id is of the marked
   * option, too.
   */
  function several() {
    const clock = createFakeClock();
    const checked = [false, false];
    let marked = 0;
    let question: string | null = "Which fruits?";
    const pressed: string[] = [];
    const listeners = new Set<() => void>();
    const options = () => [
      { index: 1, text: "Apple", selected: marked === 0, checked: checked[0] },
      { index: 2, text: "Pear", selected: marked === 1, checked: checked[1] },
      { index: 4, text: "Submit", selected: marked === 2 },
      { index: 3, text: "Chat about this", selected: marked === 3 },
    ];
    const state = () =>
      ({
        awaiting_decision:
          question === null
            ? undefined
            : { kind: "selection_menu", id: `${checked} ${marked < 2}`, question, options: options() },
        probe_snapshot: { captured_text_hash: `${question} ${marked} ${checked}` },
      }) as unknown as TerminalState;
    const view = {
      state,
      look: async () => state(),
      dialogRule: () => "question",
      subscribe(listener: () => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const pane = {
      async keys([key]: [{ name: string }]) {
        pressed.push(key.name);
        if (key.name === "Down") marked += 1;
        else if (key.name === "Up") marked -= 1;
        else if (marked < 2) checked[marked] = !checked[marked];
        else question = null;
        for (const listener of listeners) listener();
        return true;
      },
    };
    const deps = { view, clock, profile, pane } as unknown as Parameters<typeof answerDecision>[0];
    const answer = (option: string | number) => {
      const { id } = state().awaiting_decision ?? {};
      return answerDecision(deps, { option, ...(id === undefined ? {} : { id }) });
    };
    return { answer, checked, pressed, left: () => question === null };
  }

  test("an answer changes one check mark, once, and the question stays", async () => {
    const { answer, checked, pressed, left } = several();
    expect(await answer("Pear")).toEqual({ index: 2, text: "Pear" });
    expect([checked, pressed, left()]).toEqual([[false, true], ["Down", "Enter"], false]);
    expect(await answer(2)).toEqual({ index: 2, text: "Pear" });
    expect([checked, left()]).toEqual([[false, false], false]);
  });

  test("its button ends it, though the mark passes options with other ids", async () => {
    const { answer, checked, pressed, left } = several();
    await answer("Apple");
    expect(await answer("Submit")).toEqual({ index: 4, text: "Submit" });
    expect([checked, pressed, left()]).toEqual([[true, false], ["Enter", "Down", "Down", "Enter"], true]);
  });

  test("an option below the button is reached by its place, not its number", async () => {
    const { answer, pressed } = several();
    await answer("Chat about this");
    expect(pressed).toEqual(["Down", "Down", "Down", "Enter"]);
  });
});
