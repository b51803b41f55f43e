import { describe, expect, test } from "bun:test";
import { defaultTimings, type TrackedSession } from "../../../src/protocol/terminal.ts";
import { judgeReadiness } from "../../../src/services/agent/readiness.ts";
import { explainState } from "../../../src/services/terminal/detect/explain.ts";
import { type Observation, parseScreen } from "../../../src/services/terminal/screen.ts";
import { secondWitness, type WitnessFacts } from "../../../src/services/terminal/state/fusion.ts";
import { toTerminalState } from "../../../src/services/terminal/state/record.ts";
import type { TrackState } from "../../../src/services/terminal/state/reduce-state.ts";
import { nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { compiled } from "./corpus.ts";
import { demoScreen } from "./screens.ts";
import { play } from "./steps.ts";

const facts: WitnessFacts = {
  unprovedVersion: "9",
  screenReady: true,
  reportedRest: null,
  composerProved: true,
  screenHeldMs: 1000,
  readingsHeldMs: 1000,
};

describe("who confirms a screen that reads as ready", () => {
  test.each<{ id: string; given: Partial<WitnessFacts>; want: object | null }>([
    { id: "nobody is asked of a proved version", given: { unprovedVersion: null }, want: null },
    { id: "nobody is asked while it is not ready", given: { screenReady: false }, want: null },
    { id: "the tool: its turn ended", given: { reportedRest: "turn_ended" }, want: { by: "turn_ended" } },
    {
      id: "the tool: its session began",
      given: { reportedRest: "session_started" },
      want: { by: "session_started" },
    },
    { id: "a screen that stood still", given: { screenHeldMs: 5000 }, want: { by: "still_screen" } },
    {
      id: "not yet still",
      given: { screenHeldMs: 4999 },
      want: { by: null, missing: expect.stringContaining("has changed within the last 5 s") },
    },
    {
      id: "still, and the cursor elsewhere",
      given: { screenHeldMs: 5000, composerProved: false },
      want: { by: null, missing: expect.stringContaining("its cursor is not at the start of its composer") },
    },
    {
      id: "a screen that never stands still",
      given: { screenHeldMs: 10, composerProved: false, readingsHeldMs: 60_000 },
      want: { by: "still_readings" },
    },
  ])("$id", ({ given, want }) => {
    const witness = secondWitness({ ...facts, ...given });
    if (want === null) expect(witness).toBeNull();
    else expect(witness).toMatchObject(want);
  });

  test("what is missing names the version and the command that does without it", () => {
    const { missing } = secondWitness(facts) ?? {};
    expect(missing).toContain("version 9 is not proved");
    expect(missing).toContain("--delivery immediate");
  });
});

/** The same screen of a version that the demo profile was not proved on. */
const newer = (screen: Observation): Observation => ({
  ...screen,
  rows: screen.rows.map((row, at) => (at === 0 ? (parseScreen("svc demo agent v9")[0] ?? row) : row)),
  cursor: screen.cursor && { ...screen.cursor, column: 2 },
});
const cell = ["> hi"];
const idle = newer(demoScreen());
const works = newer(demoScreen({ transcript: cell, busySeconds: 1 }));
const done = newer(demoScreen({ transcript: [...cell, "* ok", "— done in 2s —"] }));
const session = { terminal_aliases: ["agent"] } as unknown as TrackedSession;
const by = (state: TrackState) => state.secondWitness?.by;
const readiness = (state: TrackState, policy: "turn_boundary" | "composer") =>
  judgeReadiness(toTerminalState(state, session), policy, true);

describe("an agent of an unproved version", () => {
  const seen = play([
    { at: 0, screen: idle },
    { at: 1000, event: "tick" },
  ]);

  test("is not given a queued prompt by its screen alone, and says why", () => {
    expect(readiness(seen, "turn_boundary")).toMatchObject({
      ready: false,
      detail: expect.stringContaining("second_witness=none (version 9 is not proved"),
    });
    expect(readiness(seen, "composer")).toEqual({ ready: true });
    const { prompt_ready, second_witness } = explainState(seen, {
      tool: "demo",
      profile: compiled("demo"),
      absence: null,
    });
    expect(prompt_ready).toMatchObject({
      holds: false,
      failing: [expect.stringContaining("second_witness")],
    });
    expect(second_witness).toMatchObject({ by: null });
  });

  test("is looked at again when its screen has not changed, and is ready then", () => {
    expect(nextDeadlineMs(seen, defaultTimings)).toBe(5000);
    const later = play([{ at: 5000, event: "tick" }], seen);
    expect([by(later), readiness(later, "turn_boundary").ready]).toEqual(["still_screen", true]);
  });

  test("is ready at once when the tool reports the end of its turn", () => {
    const state = play(
      [
        { at: 1100, typed: "hi" },
        { at: 1200, note: {} },
        { at: 1210, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "1" } },
        { at: 1300, screen: works },
        { at: 2000, report: { kind: "turn_ended", turn_id: "1" } },
        { at: 2010, screen: done },
      ],
      seen,
    );
    expect([by(state), readiness(state, "turn_boundary").ready]).toEqual(["turn_ended", true]);
  });

  test("is ready when the tool reports its session, until it is asked something", () => {
    const began = play([{ at: 1010, report: { kind: "session_started" } }], seen);
    expect(by(began)).toBe("session_started");
    const again = play(
      [
        { at: 1100, screen: works },
        { at: 2000, screen: done },
        { at: 3100, event: "tick" },
        { at: 4200, event: "tick" },
      ],
      began,
    );
    expect([again.turn.phase, by(again)]).toEqual(["ready", null]);
  });

  test("works once it reports a prompt that the screen does not show, whatever the begin of its session said", () => {
    const state = play(
      [
        { at: 1010, report: { kind: "session_started" } },
        { at: 1100, report: { kind: "prompt_submitted", prompt: "by hand", turn_id: "7" } },
        { at: 1200, screen: idle },
        { at: 2300, event: "tick" },
      ],
      seen,
    );
    expect([state.turn.phase, by(state)]).toEqual(["active", undefined]);
  });

  test("that never rests is ready after a minute", () => {
    let state = seen;
    for (let at = 2000; at < 61_000; at += 2000) {
      state = play([{ at, screen: { ...idle, pane: { ...idle.pane, title: `${at}` } } }], state);
      if (at < 60_000) expect(by(state)).toBeNull();
    }
    expect(by(state)).toBe("still_readings");
  });

  test("keeps its version when the banner scrolled away; a proved one that takes its place needs none", () => {
    const top = (screen: Observation, text: string): Observation => ({
      ...screen,
      rows: [...parseScreen(text || "\n"), ...screen.rows.slice(1)],
    });
    const scrolled = play(
      [
        { at: 1100, screen: top(done, "") },
        { at: 2200, event: "tick" },
        { at: 3300, event: "tick" },
      ],
      seen,
    );
    expect(by(scrolled)).toBeNull();
    const proved = play(
      [
        { at: 3400, screen: top(idle, "svc demo agent v1") },
        { at: 4500, event: "tick" },
      ],
      scrolled,
    );
    expect([proved.secondWitness, readiness(proved, "turn_boundary").ready]).toEqual([null, true]);
  });
});
