import { expect, test } from "bun:test";
import { renderWait } from "../../../src/cli/agent/terminal-text.ts";
import type { AwaitingDecision, TerminalState, WaitResult } from "../../../src/protocol/terminal.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";

const { state } = giveTerminal(createFakeAgent());
const decide = "svc-mgr agents single --agent-name worker gateway tui decide --option ANSWER";
const asked: AwaitingDecision = {
  kind: "startup_modal",
  question: "  Update available · 0.169.0 → 0.199.0",
  options: [
    { index: 1, text: "Update now", selected: true },
    { index: 2, text: "Skip", selected: false },
  ],
};
const asking: TerminalState = { ...state, awaiting_decision: asked };
const answered: TerminalState = {
  ...state,
  startup_answers: [{ question: asked.question, option: "Skip", at_utc: "2026-11-28T12:00:00.000+00:00" }],
};
const opened: TerminalState = { ...state, awaiting_decision: { ...asked, opened_by: "person" } };

const result = (given: Partial<WaitResult>): WaitResult => ({
  schema_version: 1,
  for: "ready",
  satisfied: false,
  waited_seconds: 3,
  state,
  ...given,
});

test.each<{ id: string; given: Partial<WaitResult>; lines: string[] }>([
  { id: "an agent that is ready", given: { satisfied: true }, lines: ["ready after 3 s"] },
  {
    id: "an agent whose question was answered for it",
    given: { satisfied: true, state: answered },
    lines: ["ready after 3 s", "answered at its start: Update available · 0.169.0 → 0.199.0: Skip"],
  },
  {
    id: "an agent that asks",
    given: { state: asking },
    lines: [
      `not ready within 3 s: it asks "Update available · 0.169.0 → 0.199.0". Answer it with: ${decide}`,
    ],
  },
  { id: "a list that somebody opened", given: { state: opened }, lines: ["not ready within 3 s"] },
  { id: "a question that was waited for", given: { for: "decision" }, lines: ["not decision within 3 s"] },
])("what a wait says of $id", ({ given, lines }) => {
  const said = renderWait(result(given), decide).split("\n");
  expect(said.slice(0, lines.length)).toEqual(lines);
});
