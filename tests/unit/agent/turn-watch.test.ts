import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { followTurn } from "../../../src/services/agent/followed-turns.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";

const { state: unseen } = giveTerminal(createFakeAgent());
const running: TerminalState = {
  ...unseen,
  diagnostics: { ...unseen.diagnostics, process_state: "tui_up" },
  turn: { phase: "active" },
};
const working: TerminalState = { ...running, active_reasons: ["status_row"] };
const ready: TerminalState = { ...running, turn: { phase: "ready" } };
const ended: TerminalState = {
  ...unseen,
  diagnostics: { ...unseen.diagnostics, process_state: "tui_down" },
};

describe("what the states after a submission prove", () => {
  const cases: { id: string; states: TerminalState[]; want: string[] }[] = [
    { id: "an active phase without work proves nothing yet", states: [running], want: [] },
    {
      id: "work is a start, ready is an end",
      states: [working, working, ready, ready],
      want: ["turn_started: the screen shows work: status_row", "turn_ended: ready again"],
    },
    {
      id: "a turn too quick to be seen starts and ends at once",
      states: [ready],
      want: ["turn_started: the transcript changed", "turn_ended: ready again"],
    },
    {
      id: "a program that ends takes its turn with it",
      states: [working, ended, ready],
      want: ["turn_started: the screen shows work: status_row", "turn_ended: the agent's program has ended"],
    },
    {
      id: "a program that ended before any work has not started a turn",
      states: [ended],
      want: ["turn_ended: the agent's program has ended"],
    },
    {
      id: "a program that cannot be looked at proves nothing",
      states: [working, unseen],
      want: ["turn_started: the screen shows work: status_row"],
    },
  ];
  test.each(cases)("$id", ({ states, want }) => {
    const told: string[] = [];
    let watch = { started: false, ended: false };
    for (const state of states) {
      const news = followTurn(watch, state);
      watch = news.watch;
      told.push(...news.evidence.map(({ step, proof }) => `${step}: ${proof}`));
    }
    expect(told).toEqual(want);
  });
});
