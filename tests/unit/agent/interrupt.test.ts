import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { stopTurn } from "../../../src/services/agent/terminal-agent.ts";
import type { TerminalView } from "../../../src/services/agent/terminal-view.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { compiled } from "../terminal/corpus.ts";

const { state: unseen } = giveTerminal(createFakeAgent());
const idle: TerminalState = {
  ...unseen,
  surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
  turn: { phase: "ready" },
};
const working: TerminalState = { ...idle, turn: { phase: "active" }, active_reasons: ["status_row"] };
/** Active by the prompt's note alone. */
const noted: TerminalState = { ...idle, turn: { phase: "active" } };
const unreadable: TerminalState = { ...noted, surface: unseen.surface };
const asking: TerminalState = {
  ...noted,
  surface: { ...unseen.surface, accepting_input: "no" },
  awaiting_decision: {
    kind: "selection_menu",
    question: "Where?",
    options: [{ index: 1, text: "here", selected: true }],
  },
};

type Shown = TerminalState | ((sinceKeyMs: number) => TerminalState);
/** The idle frame of a tool that is about to begin with the input it held. */
const betweenTurns: Shown = (sinceKeyMs) => (sinceKeyMs < 40 ? idle : working);

/** Presses on a tool that shows `states` in turn, the next one after each key. */
async function stop(states: Shown[]) {
  return (await timed(states)).stopped;
}

/** The same, with how long it held the pane. */
async function timed(states: Shown[]) {
  const clock = createFakeClock();
  const keys: unknown[] = [];
  let noticed = 0;
  let pressedMs = 0;
  const state = () => {
    const shown = states[Math.min(keys.length, states.length - 1)] ?? idle;
    return typeof shown === "function" ? shown(clock.monotonicMs() - pressedMs) : shown;
  };
  const view = {
    state,
    look: async () => state(),
    readAhead: () => {},
    draft: () => (state().surface.editing_input === "yes" ? "handed back" : ""),
    subscribe: () => () => {},
    noteInterrupt: () => {
      noticed += 1;
    },
  } as unknown as TerminalView;
  const pane = {
    raw: async () => {},
    leaveMode: async () => false,
    enter: async () => true,
    paste: () => Promise.reject(new Error("nothing is pasted")),
    keys: async (tokens: unknown) => {
      keys.push(tokens);
      pressedMs = clock.monotonicMs();
    },
  };
  let heldMs = 0;
  const stopping = stopTurn({ view, clock, profile: compiled("codex"), pane }).finally(() => {
    heldMs = clock.monotonicMs();
  });
  await clock.advance(60_000);
  return { stopped: { ...(await stopping), keys: keys.length, noticed }, heldMs };
}

describe("which keys stop a turn", () => {
  const cases: { id: string; states: Shown[]; want: Awaited<ReturnType<typeof stop>> }[] = [
    {
      id: "none where nothing runs",
      states: [idle],
      want: { outcome: "no_op", detail: "no turn is running", keys: 0, noticed: 0 },
    },
    {
      id: "none into a screen that cannot be read, and whether a turn runs is not claimed",
      states: [{ ...unreadable, turn: { phase: "unknown" } }],
      want: {
        outcome: "failed",
        detail: "whether a turn runs is not known, because the screen cannot be read; no key was pressed",
        keys: 0,
        noticed: 0,
      },
    },
    {
      id: "one for a turn that stops",
      states: [working, idle],
      want: { outcome: "interrupted", detail: "the turn was stopped", keys: 1, noticed: 1 },
    },
    {
      id: "another for the input that starts where the turn stopped",
      states: [working, working, idle],
      want: {
        outcome: "interrupted",
        detail: "2 turns were stopped, with the input the tool held",
        keys: 2,
        noticed: 1,
      },
    },
    {
      id: "another for the input that starts a moment after the turn stopped",
      states: [working, betweenTurns, idle],
      want: {
        outcome: "interrupted",
        detail: "2 turns were stopped, with the input the tool held",
        keys: 2,
        noticed: 1,
      },
    },
    {
      id: "one for a menu, and none more for the idle composer under it",
      states: [asking, noted],
      want: { outcome: "interrupted", detail: "the turn was stopped", keys: 1, noticed: 1 },
    },
    {
      id: "none more into a screen that cannot be read",
      states: [noted, unreadable],
      want: {
        outcome: "failed",
        detail: "the turn was not seen to stop after the interrupt key",
        keys: 1,
        noticed: 0,
      },
    },
  ];
  test.each(cases)("$id", async ({ states, want }) => {
    expect(await stop(states)).toEqual(want);
  });
});

test("a tool that ignores the key is given it twice, and held for 6 s", async () => {
  const { stopped, heldMs } = await timed([working]);
  expect(stopped).toEqual({
    outcome: "failed",
    detail: "the turn was not seen to stop after the interrupt key",
    keys: 2,
    noticed: 0,
  });
  expect(heldMs).toBeLessThanOrEqual(6500);
});

test("input that the tool is seen to hold gets a key for each of its turns", async () => {
  const holding: TerminalState = { ...working, surface: { ...working.surface, pending_input: "yes" } };
  const { stopped } = await timed([holding, holding, holding, holding, idle]);
  expect(stopped).toMatchObject({ outcome: "interrupted", keys: 4 });
});
