import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import { initialTrack } from "../../../src/services/terminal/state/reduce-state.ts";
import { nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { compiled } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";

import { asked, done, draft, failed, idle, interrupted, moment, play, summary, working } from "./steps.ts";

describe("a fresh start", () => {
  test("before the first sample everything is unknown and nothing is claimed", () => {
    expect(summary(initialTrack(moment(0)))).toEqual({
      phase: "unknown",
      result: "none",
      source: "none",
      ready: "unknown",
      stable: false,
      witness: null,
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

  test("an older banner that is still there does not close the new turn", () => {
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

describe("a prompt that a caller reported", () => {
  const note = { reported: true };
  const title = (title: string) => demoScreen({ title });

  test("is dropped when nothing was typed: the queue opens in seconds", () => {
    play([
      { at: 0, screen: idle },
      { at: 1000, event: "tick", expect: { promptReady: true } },
      { at: 1100, note, expect: { phase: "active", promptReady: false } },
      { at: 1200, screen: idle, expect: { phase: "active" } },
      { at: 3199, screen: idle, expect: { phase: "active" } },
      { at: 3200, event: "tick", expect: { phase: "ready", result: "none", recovery: null } },
      { at: 4200, event: "tick", expect: { promptReady: true, result: "none" } },
      { at: 4300, screen: working(0), expect: { phase: "active", promptReady: false } },
      { at: 8000, screen: done },
      { at: 9000, event: "tick", expect: { result: "success", source: "surface_inference" } },
    ]);
  });

  test("sets a deadline for itself", () => {
    const state = play([
      { at: 0, screen: idle },
      { at: 1100, note },
      { at: 2200, screen: idle },
    ]);
    expect(nextDeadlineMs(state, defaultTimings)).toBe(4200);
  });

  test.each([
    { id: "a draft", screen: draft },
    { id: "a busy title", screen: title("⠋ demo: working") },
    { id: "a changed transcript", screen: demoScreen({ transcript: asked }) },
    { id: "a queued message", screen: demoScreen({ queued: ["later"] }) },
    { id: "a dialog", screen: demoDialog("May I?", ["Yes", "No"], 1) },
  ])("$id on the screen begins the wait again", ({ screen }) => {
    play([
      { at: 0, screen: idle },
      { at: 100, note },
      { at: 200, screen: idle },
      { at: 2100, screen, expect: { promptReady: false } },
      { at: 4200, event: "tick", expect: { promptReady: false } },
    ]);
  });

  test("has a turn like any other once it was typed", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note },
      { at: 200, screen: idle },
      { at: 1900, screen: working(0), expect: { phase: "active" } },
      { at: 4000, event: "tick", expect: { phase: "active" } },
      { at: 5000, screen: done, expect: { phase: "ready" } },
      { at: 6000, event: "tick", expect: { result: "success", source: "explicit_input" } },
    ]);
  });
});

describe("a turn that is closed by a row", () => {
  const asked = demoScreen({ transcript: ["> hi"] });
  const answered = demoScreen({ transcript: ["> hi", "* ok", "— done in 0s —"] });

  test("the prompt's own cell is not its end, however long it is alone", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: {}, expect: { phase: "active" } },
      { at: 200, screen: asked, expect: { phase: "active" } },
      { at: 4000, event: "tick", expect: { phase: "active", result: "none" } },
      { at: 4100, screen: answered, expect: { phase: "active" } },
      { at: 5200, event: "tick", expect: { phase: "ready" } },
      { at: 6300, event: "tick", expect: { phase: "ready", result: "success" } },
    ]);
  });

  test("a command that leaves a fresh conversation as it was has ended", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: { command: true }, expect: { phase: "active" } },
      { at: 200, screen: idle, expect: { phase: "active" } },
      { at: 1300, event: "tick", expect: { phase: "ready", result: "none" } },
    ]);
  });

  test("a command of the tool needs no closing row", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, note: { command: true }, expect: { phase: "active" } },
      { at: 200, screen: asked, expect: { phase: "active" } },
      { at: 1300, event: "tick", expect: { phase: "ready" } },
    ]);
  });
});

test("a turn that we stopped is interrupted also when the screen keeps no trace of it", () => {
  play([
    { at: 0, screen: idle },
    { at: 100, note: {}, expect: { phase: "active" } },
    { at: 200, screen: working(0), expect: { phase: "active" } },
    { at: 300, screen: idle, expect: { phase: "ready" } },
    { at: 310, event: "turn_interrupted", expect: { phase: "ready", result: "interrupted" } },
    { at: 5000, screen: idle, expect: { phase: "ready", result: "interrupted" } },
  ]);
});

test("a turn that we stopped stays interrupted when an older failure comes back into sight", () => {
  play([
    { at: 0, screen: failed, expect: { result: "known_failure" } },
    { at: 100, note: {}, expect: { phase: "active", result: "none" } },
    { at: 200, screen: working(0), expect: { phase: "active" } },
    { at: 300, screen: failed },
    { at: 310, event: "turn_interrupted", expect: { phase: "ready", result: "interrupted" } },
    { at: 400, screen: failed, expect: { phase: "ready", result: "interrupted" } },
    { at: 5000, event: "tick", expect: { phase: "ready", result: "interrupted" } },
  ]);
});

test("a draft that is deleted again was no turn", () => {
  const asked = ["> hi", "* ok", "— done in 0s —"];
  play([
    { at: 0, screen: demoScreen({ transcript: asked }) },
    { at: 100, screen: demoScreen({ transcript: asked, draft: ["half a"] }), expect: { phase: "unknown" } },
    { at: 200, screen: demoScreen({ transcript: asked }), expect: { phase: "ready" } },
    { at: 3000, event: "tick", expect: { phase: "ready", result: "none" } },
  ]);
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
