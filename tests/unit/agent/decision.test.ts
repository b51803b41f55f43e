import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { answerDecision } from "../../../src/services/agent/decision.ts";
import { profileFor } from "../../../src/services/terminal/profile.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

const profile = (() => {
  const found = profileFor("claude");
  if (!found) throw new Error("no profile of claude");
  return found;
})();

/** The question about the folder; `onEnter` is what each Enter does to it, given how many came before. */
function asked(onEnter: (earlier: number, show: (text: string | null) => void) => void) {
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
  let state = stateOf("Yes");
  const show = (text: string | null) => {
    state = stateOf(text);
    for (const tell of listeners) tell(state, { material: true });
  };
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
  return { answer, clock, show, enters: () => enters };
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
    ...{ clock, profile },
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
});
