import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { toTerminalHistory, toTerminalState } from "../../../src/services/terminal/state/record.ts";
import type { TrackState } from "../../../src/services/terminal/state/reduce-state.ts";
import { isUnsettled, nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { demoScreen } from "./screens.ts";

import { asked, done, draft, idle, play, type Step, working } from "./steps.ts";

describe("when to look again", () => {
  const deadline = (state: TrackState) => nextDeadlineMs(state, defaultTimings);

  test("a settled screen waits for a push", () => {
    const settled = play([
      { at: 0, screen: idle },
      { at: 1000, event: "tick" },
    ]);
    expect({ deadline: deadline(settled), unsettled: isUnsettled(settled) }).toEqual({
      deadline: null,
      unsettled: false,
    });
  });

  test.each([
    { id: "stability", steps: [{ at: 0, screen: idle }], want: 1000 },
    {
      id: "a success that settles",
      steps: [
        { at: 0, screen: working(0) },
        { at: 500, screen: done },
      ],
      want: 1500,
    },
    {
      id: "the stale-active recovery",
      steps: [
        { at: 0, screen: working(0) },
        { at: 1000, event: "tick" },
      ],
      want: 5000,
    },
    {
      id: "the final recovery",
      steps: [
        { at: 0, screen: idle },
        { at: 100, note: {} },
        { at: 1200, event: "tick" },
      ],
      want: 20_100,
    },
    {
      id: "the end of a quick turn",
      steps: [
        { at: 0, screen: idle },
        { at: 10, note: {} },
        { at: 20, screen: done },
      ],
      want: 1020,
    },
  ] as { id: string; steps: Step[]; want: number }[])("$id has its moment", ({ steps, want }) => {
    const state = play(steps);
    expect(deadline(state)).toBe(want);
    expect(isUnsettled(state)).toBe(true);
  });
});

describe("the record", () => {
  const session = {
    tracked_session_id: "runtime-1",
    session_name: "runtime-1",
    tool: "demo",
    observed_tool_version: null,
    tmux_session_name: "svc-1",
    tmux_window_name: null,
    terminal_aliases: [],
    agent_name: null,
    agent_id: null,
    manifest_path: null,
    session_root: null,
  };

  test("text alone makes no transition; a verdict does, and says what changed", () => {
    const state = play([
      { at: 0, screen: idle },
      { at: 100, screen: demoScreen({ transcript: ["* hello"] }) },
      { at: 200, screen: working(0) },
      { at: 300, screen: working(1) },
    ]);
    expect(state.transitions).toHaveLength(2);
    expect(state.transitions.at(-1)).toMatchObject({
      turn_phase: "active",
      changed_fields: ["surface.ready_posture", "turn.phase", "parsed_surface.business_state"],
      summary:
        "surface.ready_posture: yes -> no; turn.phase: ready -> active; parsed_surface.business_state: idle -> working",
    });
  });

  test("at most 24 transitions and 1000 history entries are kept, newest last", () => {
    const steps = Array.from({ length: 1100 }, (_, index) => ({
      at: index * 10,
      screen: index % 2 === 0 ? idle : draft,
    }));
    const state = play(steps);
    const record = toTerminalState(state, session);
    expect(record.recent_transitions).toHaveLength(24);
    expect(record.terminal_id).toBe("runtime-1");
    const history = toTerminalHistory(state, session, 3);
    expect(toTerminalHistory(state, session, 5000).entries).toHaveLength(1000);
    expect(history.entries.map((entry) => entry.surface.editing_input)).toEqual(["yes", "no", "yes"]);
  });

  test("a tick is no sample", () => {
    const state = play([
      { at: 0, screen: idle },
      { at: 1000, event: "tick" },
    ]);
    expect(state.history).toHaveLength(1);
  });

  test("streaming text resets stability, and time alone brings it", () => {
    play([
      { at: 0, screen: working(0) },
      {
        at: 900,
        screen: demoScreen({ transcript: [...asked, "* a"], busySeconds: 0 }),
        expect: { stable: false },
      },
      { at: 1800, event: "tick", expect: { stable: false } },
      { at: 1900, event: "tick", expect: { stable: true } },
    ]);
  });

  test("a clock that goes back counts as no time passed", () => {
    play([
      { at: 1000, screen: working(0) },
      { at: 0, screen: done, expect: { phase: "ready", result: "none" } },
      { at: 1999, event: "tick", expect: { result: "none" } },
      { at: 2000, event: "tick", expect: { result: "success" } },
    ]);
  });
});
