import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { observedFields, toTerminalState } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import {
  initialTrack,
  type Moment,
  type TrackState,
} from "../../../src/services/terminal/state/reduce-state.ts";
import { newTransitions, nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { compiled } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";

const start = Date.UTC(2026, 10, 21, 14, 0);
const minutes = (count: number) => count * 60_000;
const at = (afterMs: number): Moment => ({ wallMs: start + afterMs, monotonicMs: afterMs });
const utc = (hour: number, minute = 0, day = 21) =>
  new Date(Date.UTC(2026, 10, day, hour, minute)).toISOString().replace("Z", "+00:00");

const limit = (shown: string) =>
  demoScreen({ transcript: ["> hi", `✗ usage limit reached${shown && ` · resets ${shown}`}`] });
const working = demoScreen({ transcript: ["> hi"], busySeconds: 1 });
const done = demoScreen({ transcript: ["> hi", "* ok", "— done in 1s —"] });
const dialog = demoDialog("Go on?", ["Yes", "No"], 1);
const cleared = demoScreen();

const look = (state: TrackState, afterMs: number, screen: Observation) =>
  reduce(
    state,
    { kind: "observed", at: at(afterMs), observation: screen, signals: detect(screen, compiled("demo")) },
    defaultTimings,
  );
const untilOf = (state: TrackState, afterMs = state.at.monotonicMs) =>
  observedFields(state, at(afterMs)).parked_until;

/** Screens in order, each with the minute it is seen at; the state after the last. */
function seen(...screens: [minute: number, screen: Observation][]): TrackState {
  return screens.reduce(
    (state, [minute, screen]) => look(state, minutes(minute), screen),
    initialTrack(at(0)),
  );
}

describe("a usage limit on the screen", () => {
  test("is reported with its notice and the moment it ends, and makes a transition", () => {
    const state = seen([0, working], [1, limit("3pm")]);
    expect(observedFields(state)).toMatchObject({
      parked: { notice: "✗ usage limit reached · resets 3pm", until: utc(15) },
      parked_until: utc(15),
    });
    expect(state.transitions.at(-1)?.changed_fields).toContain("parked_until");
  });

  test("ends by itself when its time comes, though the notice stays", () => {
    const state = seen([0, working], [1, limit("3pm")]);
    expect(untilOf(state, minutes(60) - 1)).toBe(utc(15));
    expect(untilOf(state, minutes(60))).toBeUndefined();
    const settled = look(look(state, minutes(2), limit("3pm")), minutes(3), limit("3pm"));
    expect(nextDeadlineMs(settled, defaultTimings)).toBe(minutes(60));
    const after = reduce(settled, { kind: "tick", at: at(minutes(60)) }, defaultTimings);
    expect(after.transitions.at(-1)?.summary).toContain(`parked_until: ${utc(15)} -> none`);
    expect(nextDeadlineMs(look(after, minutes(61), limit("3pm")), defaultTimings)).toBeNull();
    expect(untilOf(seen([0, working], [1, limit("3pm")], [200, limit("3pm")]))).toBeUndefined();
  });

  test("makes no success of the turn that met it", () => {
    const state = seen([0, working], [1, limit("3pm")], [2, limit("3pm")], [3, limit("3pm")]);
    expect(observedFields(state)).toMatchObject({ turn: { phase: "ready" }, last_turn: { result: "none" } });
  });

  test("a span is counted from the moment it appeared", () => {
    const state = seen([0, working], [1, limit("in 2h 13m")], [30, limit("in 2h 13m")]);
    expect(untilOf(state)).toBe(utc(16, 14));
  });

  test.each([
    { id: "the notice leaves the screen", next: [[5, cleared]] },
    { id: "a new turn runs", next: [[5, working]] },
    {
      id: "a new turn ended well",
      next: [
        [5, working],
        [6, done],
      ],
    },
  ] as { id: string; next: [number, Observation][] }[])(
    "one that shows no time ends when $id",
    ({ next }) => {
      const before = seen([0, working], [1, limit("")], [4, limit("")]);
      expect(observedFields(before)).toMatchObject({ parked: { until: null }, parked_until: null });
      const after = seen([0, working], [1, limit("")], ...next);
      expect(observedFields(after)).not.toHaveProperty("parked");
      expect(untilOf(after)).toBeUndefined();
    },
  );

  test.each([
    {
      id: "a dialog hides it for a while",
      between: [[90, dialog]] as [number, Observation][],
      want: undefined,
    },
    { id: "the screen is drawn anew", between: [[90, cleared]] as [number, Observation][], want: undefined },
  ])("its time is not read again when $id", ({ between, want }) => {
    const state = seen([0, working], [1, limit("3pm")], ...between, [91, limit("3pm")]);
    expect(untilOf(state)).toBe(want);
  });

  test("shown again by a new turn after its time, it holds for some minutes and not for a day", () => {
    const state = seen([0, working], [1, limit("3pm")], [61, working], [62, limit("3pm")]);
    expect(untilOf(state)).toBe(utc(15, 7));
  });

  test("a new one with other words counts at once", () => {
    const state = seen([0, working], [1, limit("3pm")], [61, working], [62, limit("8pm")]);
    expect(untilOf(state)).toBe(utc(20));
  });

  test("the first thing a gateway sees may be an old notice", () => {
    expect(untilOf(seen([0, limit("1pm")]))).toBeUndefined();
    expect(untilOf(seen([0, limit("3pm")]))).toBe(utc(15));
    expect(untilOf(seen([0, working], [1, limit("1pm")]))).toBe(utc(13, 0, 22));
  });

  test("is not reported of a tool that has left, and is known again when it is seen again", () => {
    const state = seen([0, working], [1, limit("3pm")]);
    const gone = reduce(state, { kind: "tmux_missing", at: at(minutes(2)) }, defaultTimings);
    expect(untilOf(gone)).toBeUndefined();
    expect(untilOf(look(gone, minutes(3), limit("3pm")))).toBe(utc(15));
    const shell = { ...limit("3pm"), processes: [] };
    expect(untilOf(look(state, minutes(2), shell))).toBeUndefined();
  });

  test("is reported with the event of its transition", () => {
    const [before, after] = [seen([0, working]), seen([0, working], [1, limit("3pm")])].map((track) =>
      toTerminalState(track, giveTerminal(createFakeAgent()).state.tracked_session),
    );
    if (!before || !after) throw new Error("no states");
    expect(newTransitions(before, after)).toEqual([
      expect.objectContaining({ parked: { notice: "✗ usage limit reached · resets 3pm", until: utc(15) } }),
    ]);
  });

  test("is not reported while a turn runs or before the tool was seen", () => {
    expect(untilOf(seen([0, working], [1, limit("3pm")], [2, working]))).toBeUndefined();
    expect(untilOf(initialTrack(at(0)))).toBeUndefined();
  });
});
