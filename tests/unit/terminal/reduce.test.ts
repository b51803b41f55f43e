import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect.ts";
import type { Observation } from "../../../src/services/terminal/observation.ts";
import { failingFacts } from "../../../src/services/terminal/readiness.ts";
import { observedFields, toTerminalHistory, toTerminalState } from "../../../src/services/terminal/record.ts";
import { reduce } from "../../../src/services/terminal/reduce.ts";
import { isUnsettled, nextDeadlineMs } from "../../../src/services/terminal/reduce-deadline.ts";
import {
  initialTrack,
  type TrackEvent,
  type TrackState,
} from "../../../src/services/terminal/reduce-state.ts";
import { compiled } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";

type Step = { at: number; expect?: Record<string, unknown> } & (
  | { screen: Observation }
  | { note: { baseline?: string | null; sawActivity?: boolean } }
  | { event: "tick" | "tmux_missing" | "probe_failed" }
);

const moment = (at: number) => ({ wallMs: 1_000_000 + at, monotonicMs: at });

function eventOf(step: Step): TrackEvent {
  const at = moment(step.at);
  if ("screen" in step) {
    const signals = detect(step.screen, compiled("demo"));
    return { kind: "observed", at, observation: step.screen, signals };
  }
  if ("note" in step) return { kind: "prompt_noted", at, baseline: null, sawActivity: false, ...step.note };
  if (step.event === "probe_failed") {
    return { kind: "probe_failed", at, error: { kind: "tmux", message: "no answer", details: {} } };
  }
  return { kind: step.event, at };
}

function summary(state: TrackState) {
  const { diagnostics, surface, turn, last_turn, stability, active_reasons } = observedFields(state);
  return {
    phase: turn.phase,
    result: last_turn.result,
    source: last_turn.source,
    ready: surface.ready_posture,
    stable: stability.stable,
    reasons: active_reasons,
    availability: diagnostics.availability,
    recovery: state.turn.recovery,
    promptReady: failingFacts(observedFields(state)).length === 0,
  };
}

/** Plays the steps in order; every `expect` names the fields that must hold after its step. */
function play(steps: readonly Step[], from: TrackState = initialTrack(moment(0))): TrackState {
  let state = from;
  for (const step of steps) {
    state = reduce(state, eventOf(step), defaultTimings);
    if (step.expect)
      expect({ at: step.at, ...summary(state) }).toMatchObject({ at: step.at, ...step.expect });
  }
  return state;
}

const asked = ["> hi"];
const idle = demoScreen();
const working = (seconds: number) => demoScreen({ transcript: asked, busySeconds: seconds });
const done = demoScreen({ transcript: [...asked, "* ok", "— done in 2s —"] });
const interrupted = demoScreen({ transcript: [...asked, "✗ interrupted"] });
const failed = demoScreen({ transcript: [...asked, "✗ error: no model"] });
const draft = demoScreen({ draft: ["half"] });

describe("a fresh start", () => {
  test("before the first sample everything is unknown and nothing is claimed", () => {
    expect(summary(initialTrack(moment(0)))).toEqual({
      phase: "unknown",
      result: "none",
      source: "none",
      ready: "unknown",
      stable: false,
      reasons: [],
      availability: "unknown",
      recovery: null,
      promptReady: false,
    });
  });

  test("an idle screen is ready without a result, and prompt-ready once it has been stable", () => {
    play([
      { at: 0, screen: idle, expect: { phase: "ready", result: "none", stable: false, promptReady: false } },
      { at: 999, event: "tick", expect: { stable: false, promptReady: false } },
      {
        at: 1000,
        event: "tick",
        expect: { phase: "ready", result: "none", stable: true, promptReady: true },
      },
      { at: 9000, screen: idle, expect: { result: "none", stable: true } },
    ]);
  });
});

describe("a turn that a person typed", () => {
  test("a draft arms, work runs it, an idle screen that holds makes it a success", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, screen: draft, expect: { phase: "unknown", result: "none" } },
      { at: 200, screen: working(0), expect: { phase: "active", ready: "no", reasons: ["status_row"] } },
      { at: 300, screen: done, expect: { phase: "ready", result: "none" } },
      { at: 1299, event: "tick", expect: { result: "none" } },
      { at: 1300, event: "tick", expect: { phase: "ready", result: "success", source: "surface_inference" } },
    ]);
  });

  test("a change during the settle time starts it again", () => {
    const more = demoScreen({ transcript: [...asked, "* ok", "* more", "— done in 2s —"] });
    play([
      { at: 0, screen: working(0) },
      { at: 1000, screen: done, expect: { result: "none" } },
      { at: 1900, screen: more, expect: { result: "none" } },
      { at: 2500, event: "tick", expect: { result: "none" } },
      { at: 2900, event: "tick", expect: { result: "success" } },
    ]);
  });

  test("a later different surface takes the settled success back; the same one keeps it", () => {
    const cleared = demoScreen({ transcript: ["> /clear"] });
    play([
      { at: 0, screen: working(0) },
      { at: 1000, screen: done },
      { at: 2000, screen: done, expect: { result: "success" } },
      { at: 3000, screen: done, expect: { result: "success" } },
      { at: 4000, screen: cleared, expect: { phase: "ready", result: "none" } },
    ]);
  });

  test("an interruption and a failure close the turn, and a new draft beats the banner", () => {
    for (const [screen, result] of [
      [interrupted, "interrupted"],
      [failed, "known_failure"],
    ] as const) {
      play([
        { at: 0, screen: working(0) },
        { at: 500, screen, expect: { phase: "ready", result, source: "surface_inference" } },
        { at: 9000, screen, expect: { phase: "ready", result } },
        {
          at: 9500,
          screen: demoScreen({ transcript: [...asked, "✗ interrupted"], draft: ["new"] }),
          expect: { result: "none" },
        },
      ]);
    }
  });
});

describe("a noted prompt", () => {
  test("makes the turn active at once and clears the last result", () => {
    play([
      { at: 0, screen: working(0) },
      { at: 500, screen: interrupted, expect: { result: "interrupted" } },
      { at: 600, note: {}, expect: { phase: "active", result: "none", promptReady: false } },
    ]);
  });

  test("a bare idle screen right after it does not end the turn", () => {
    play([
      { at: 0, screen: idle },
      { at: 1000, event: "tick", expect: { promptReady: true } },
      { at: 1100, note: {}, expect: { phase: "active" } },
      { at: 1200, screen: idle, expect: { phase: "active", ready: "yes", promptReady: false } },
      { at: 6000, screen: idle, expect: { phase: "active", promptReady: false } },
      { at: 6100, screen: working(0), expect: { phase: "active" } },
      { at: 8000, screen: done, expect: { phase: "ready" } },
      {
        at: 9000,
        event: "tick",
        expect: { result: "success", source: "explicit_input", promptReady: false },
      },
      // The result is part of the visible state, which must hold in its turn.
      { at: 10_000, event: "tick", expect: { promptReady: true } },
    ]);
  });

  test("work that was seen before the note counts", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, screen: done },
      { at: 200, note: { baseline: "svc demo agent", sawActivity: true }, expect: { phase: "active" } },
      { at: 300, screen: done, expect: { phase: "ready", result: "none" } },
      { at: 1300, event: "tick", expect: { result: "success", source: "explicit_input" } },
    ]);
  });

  test("a turn too quick to be seen ends when the changed transcript has held", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: {}, expect: { phase: "active" } },
      { at: 200, screen: done, expect: { phase: "active" } },
      { at: 1199, event: "tick", expect: { phase: "active", result: "none" } },
      { at: 1200, event: "tick", expect: { phase: "ready", result: "none" } },
      { at: 2200, event: "tick", expect: { phase: "ready", result: "success" } },
    ]);
  });

  test("an older banner that still stands does not close the new turn", () => {
    play([
      { at: 0, screen: interrupted, expect: { result: "interrupted" } },
      { at: 100, note: {}, expect: { phase: "active", result: "none" } },
      { at: 200, screen: interrupted, expect: { phase: "active", result: "none" } },
      { at: 300, screen: demoScreen({ transcript: [...asked, "✗ interrupted", "> again"], busySeconds: 0 }) },
      {
        at: 400,
        screen: demoScreen({ transcript: [...asked, "✗ interrupted", "> again", "✗ interrupted"] }),
        expect: { phase: "ready", result: "interrupted", source: "explicit_input" },
      },
    ]);
  });

  test("a question in the middle keeps the turn active", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: {} },
      { at: 200, screen: working(0) },
      {
        at: 300,
        screen: demoDialog("May I?", ["Yes", "No"], 1),
        expect: { phase: "active", ready: "unknown" },
      },
      { at: 30_000, event: "tick", expect: { phase: "active", ready: "unknown", recovery: null } },
      { at: 30_100, screen: done, expect: { phase: "ready" } },
    ]);
  });

  test("a prompt that the tool hands back as a draft ends the turn without a result", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: {} },
      { at: 200, screen: working(0) },
      { at: 300, screen: draft, expect: { phase: "active" } },
      { at: 1300, event: "tick", expect: { phase: "unknown", result: "none", promptReady: false } },
    ]);
  });

  test("a screen that cannot be read does not end the turn until it is stalled", () => {
    const garbled = { ...idle, cursor: { row: 0, column: 0 } };
    play([
      { at: 0, screen: idle },
      { at: 100, note: {} },
      { at: 200, screen: garbled, expect: { phase: "active", availability: "unknown" } },
      { at: 10_000, screen: { ...garbled, raw: "x" }, expect: { phase: "active" } },
      { at: 30_200, event: "tick", expect: { phase: "unknown" } },
    ]);
  });

  test.each([
    { id: "tmux", step: { at: 300, event: "tmux_missing" } as const, availability: "unavailable" },
    { id: "the answer of tmux", step: { at: 300, event: "probe_failed" } as const, availability: "error" },
    {
      id: "the process",
      step: { at: 300, screen: { ...idle, processes: [] } } as const,
      availability: "tui_down",
    },
  ])("losing $id loses the claim to a result", ({ step, availability }) => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: {} },
      { at: 200, screen: working(0) },
      { ...step, expect: { phase: "unknown", ready: "unknown", availability } },
      { at: 400, screen: done, expect: { phase: "ready", result: "none", availability: "available" } },
      { at: 9000, event: "tick", expect: { result: "none" } },
    ]);
  });
});

describe("the recoveries from a false active", () => {
  const stale = demoScreen({ transcript: asked, busySeconds: 4, title: "demo: ready" });

  test("a left-over status row under an idle title is overruled after five seconds", () => {
    play([
      { at: 0, screen: stale, expect: { phase: "active", ready: "no" } },
      { at: 4999, event: "tick", expect: { phase: "active" } },
      {
        at: 5000,
        event: "tick",
        expect: { phase: "ready", ready: "yes", result: "none", recovery: "stale_active" },
      },
      { at: 6000, event: "tick", expect: { promptReady: true } },
      { at: 6100, screen: working(5), expect: { phase: "active", ready: "no", recovery: null } },
    ]);
  });

  test("not while a prompt's turn is awaited, nor without an idle title", () => {
    play([
      { at: 0, screen: stale },
      { at: 100, note: {} },
      { at: 9000, event: "tick", expect: { phase: "active" } },
    ]);
    play([
      { at: 0, screen: working(4) },
      { at: 9000, event: "tick", expect: { phase: "active" } },
    ]);
  });

  test("a screen that has not moved for twenty seconds is overruled, also after a prompt", () => {
    play([
      { at: 0, screen: idle },
      { at: 5000, note: {}, expect: { phase: "active" } },
      { at: 24_999, screen: idle, expect: { phase: "active" } },
      { at: 25_000, screen: idle, expect: { phase: "ready", result: "none", recovery: "final_stable" } },
      { at: 26_000, event: "tick", expect: { promptReady: true, result: "none" } },
    ]);
  });

  test("a live seconds counter keeps it from firing, and so does a busy title", () => {
    play([
      ...Array.from({ length: 60 }, (_, second) => ({ at: second * 1000, screen: working(second) })),
      { at: 60_000, screen: working(60), expect: { phase: "active", recovery: null } },
    ]);
    play([
      { at: 0, screen: demoScreen({ title: "⠋ demo: working" }) },
      { at: 60_000, event: "tick", expect: { phase: "active", ready: "no", recovery: null } },
    ]);
  });

  test("time in which the screen was not seen does not count", () => {
    play([
      { at: 0, screen: working(4) },
      { at: 100, event: "probe_failed" },
      { at: 30_000, screen: working(4), expect: { phase: "active" } },
      { at: 30_100, screen: working(4), expect: { phase: "active" } },
      { at: 50_000, event: "tick", expect: { phase: "ready", recovery: "final_stable" } },
    ]);
  });
});

describe("a transcript that grows", () => {
  test("holds the activity for three seconds where the profile says so", () => {
    const signals = (transcript: string[]) => ({
      ...detect(demoScreen({ transcript }), compiled("demo")),
      growthCounts: true,
    });
    let state = initialTrack(moment(0));
    const see = (at: number, seen: ReturnType<typeof signals>) => {
      state = reduce(
        state,
        { kind: "observed", at: moment(at), observation: idle, signals: seen },
        defaultTimings,
      );
      return summary(state);
    };
    see(0, { ...signals(["> hi"]), activeReasons: ["status_row"] });
    expect(see(500, signals(["> hi", "* one"]))).toMatchObject({ phase: "ready" });
    expect(see(1000, signals(["> hi", "* one", "  two", "  three"]))).toMatchObject({
      phase: "active",
      ready: "no",
      reasons: ["transcript_growth"],
    });
    const expiry = nextDeadlineMs(state, defaultTimings);
    expect(expiry).toBeGreaterThan(1000);
    expect(see(4600, signals(["> hi", "* one", "  two", "  three"]))).toMatchObject({
      phase: "ready",
      ready: "yes",
    });
  });
});

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

  test("a clock that goes back counts as standing still", () => {
    play([
      { at: 1000, screen: working(0) },
      { at: 0, screen: done, expect: { phase: "ready", result: "none" } },
      { at: 1999, event: "tick", expect: { result: "none" } },
      { at: 2000, event: "tick", expect: { result: "success" } },
    ]);
  });
});
