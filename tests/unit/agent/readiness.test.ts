import { describe, expect, test } from "bun:test";
import type { AwaitingDecision, TerminalState } from "../../../src/protocol/terminal.ts";
import type { SubmitPolicy } from "../../../src/services/agent/agent.ts";
import { isInState, judgeReadiness, toConnectivity } from "../../../src/services/agent/readiness.ts";
import { stuckOn } from "../../../src/services/terminal/readiness.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";

const { state: unseen } = giveTerminal(createFakeAgent());
const ready: TerminalState = {
  ...unseen,
  diagnostics: { ...unseen.diagnostics, transport_state: "tmux_up", process_state: "tui_up" },
  surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
  turn: { phase: "ready" },
  stability: { ...unseen.stability, stable: true },
};
const until = "2026-11-21T15:00:00.000+00:00";
const parked: TerminalState = {
  ...ready,
  parked: { notice: "You've hit your limit · resets 3pm", until },
  parked_until: until,
};
const timeless: TerminalState = {
  ...ready,
  parked: { notice: "You've hit your limit", until: null },
  parked_until: null,
};

test("a list that somebody opened at the terminal holds prompts, and the agent asks nothing", () => {
  const option = { index: 1, text: "small", selected: true };
  const asked: TerminalState = {
    ...ready,
    surface: { ...ready.surface, accepting_input: "no" },
    awaiting_decision: { kind: "selection_menu", question: "Select model", options: [option] },
  };
  const opened: TerminalState = {
    ...asked,
    awaiting_decision: { ...asked.awaiting_decision, opened_by: "person" } as AwaitingDecision,
  };
  const judged = [asked, opened].map((state) => judgeReadiness(state, "turn_boundary", true));
  expect(judged).toEqual([
    {
      ready: false,
      code: "awaiting_decision",
      detail: "a person must decide (selection_menu): Select model",
    },
    {
      ready: false,
      code: "not_ready",
      detail: "a list that somebody opened is on the screen: Select model",
    },
  ]);
  expect([asked, opened].map((state) => isInState(state, "decision"))).toEqual([true, false]);
  const still = { stable_for_seconds: 600, stable_since_utc: until };
  const stuck = [asked, opened].map((state) =>
    stuckOn({ ...state, stability: { ...state.stability, ...still } }),
  );
  expect(stuck).toEqual([null, { facts: ["accepting_input=no"], since: until }]);
});

describe("while the tool shows a usage limit", () => {
  test.each([
    { policy: "turn_boundary", state: ready, want: { ready: true } },
    { policy: "composer", state: ready, want: { ready: true } },
    {
      policy: "turn_boundary",
      state: parked,
      want: {
        ready: false,
        code: "not_ready",
        detail: `usage_limit=until ${until} (You've hit your limit · resets 3pm)`,
      },
    },
    {
      policy: "composer",
      state: parked,
      want: {
        ready: false,
        code: "not_ready",
        detail: `usage_limit=until ${until} (You've hit your limit · resets 3pm)`,
      },
    },
    {
      policy: "turn_boundary",
      state: timeless,
      want: { ready: false, code: "not_ready", detail: "usage_limit=no time shown (You've hit your limit)" },
    },
    { policy: "if_no_pending", state: parked, want: { ready: true } },
    { policy: "always", state: parked, want: { ready: true } },
  ] as { policy: SubmitPolicy; state: TerminalState; want: object }[])(
    "$policy, $state.parked.notice",
    ({ policy, state, want }) => {
      expect(judgeReadiness(state, policy, true)).toMatchObject(want);
    },
  );

  test("a question whose options are not painted yet is waited for until the screen rests", () => {
    const asked = (
      options: { index: number; text: string; selected: boolean }[],
      stable: boolean,
    ): TerminalState => ({
      ...ready,
      awaiting_decision: { kind: "approval_dialog", question: "Go on?", options },
      stability: { ...ready.stability, stable },
    });
    const yes = { index: 1, text: "Yes", selected: true };
    const heard = [asked([], false), asked([yes], false), asked([], true), ready];
    expect(heard.map((state) => isInState(state, "decision"))).toEqual([false, true, true, false]);
  });

  test("nobody is reported that it is ready", () => {
    expect([isInState(ready, "ready"), isInState(parked, "ready")]).toEqual([true, false]);
    expect(toConnectivity(parked, "one", true)).toMatchObject({ connected: true, eligibility: "not_ready" });
  });
});
