import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import type { ToolReport } from "../../../src/protocol/tool-report.ts";
import { demoSignature as look } from "../../../src/services/demo/signature.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { keyOfText } from "../../../src/services/terminal/keys.ts";
import { type FusedEnd, fuseEnd, leavesRoomForTurn } from "../../../src/services/terminal/state/fusion.ts";
import { observedFields } from "../../../src/services/terminal/state/record.ts";
import { nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { compiled, loadCorpus, observe, read } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";
import { done, draft, failed, idle, interrupted, play, type Step, summary, working } from "./steps.ts";

const signalsOf = (screen: Parameters<typeof detect>[0]) => detect(screen, compiled("demo"));
const over = (result: (FusedEnd & { by: "tool" })["result"], leftover = false): FusedEnd => ({
  by: "tool",
  result,
  leftover,
});

describe("a turn that the tool begins by itself", () => {
  const own = (at: number): Step => ({ at, report: { kind: "own_turn_started", turn_id: "own" } });
  const ended = (at: number, rest: Partial<ToolReport> = {}): Step => ({
    at,
    report: { kind: "turn_ended", turn_id: "asked", ...rest },
  });
  const asked: Step[] = [
    { at: 0, screen: idle },
    { at: 100, typed: "go on" },
    { at: 150, note: {} },
    { at: 200, report: { kind: "prompt_submitted", prompt: "go on", turn_id: "asked" } },
    { at: 300, screen: working(1) },
  ];

  test("is no other text than the typed one, which its own report proves later", () => {
    const state = play([{ at: 0, screen: idle }, { at: 100, typed: "go on" }, own(200)]);
    expect(state.reports.typed).toMatchObject({ taken: false, otherTaken: false });
    const taken = play([
      { at: 0, screen: idle },
      { at: 100, typed: "go on" },
      own(200),
      { at: 900, report: { kind: "prompt_submitted", prompt: "go on", turn_id: "asked" } },
    ]);
    expect(taken.reports.typed).toMatchObject({ taken: true, otherTaken: false });
  });

  test("runs until its own end is reported", () => {
    const steps: Step[] = [
      ...asked,
      { at: 900, screen: done },
      ended(1000),
      own(9000),
      { at: 9050, screen: working(1) },
    ];
    expect(play(steps).turn.phase).toBe("active");
    const over: Step[] = [
      { at: 9500, screen: done },
      ended(9600, { turn_id: "own" }),
      { at: 9650, screen: done },
    ];
    expect(play([...steps, ...over]).turn.phase).toBe("ready");
  });
});

describe("work that goes on beside the turns", () => {
  const work = ["shell: Sleep"];
  const until = (...rest: Step[]) => observedFields(play(rest)).background;
  const start: Step[] = [
    { at: 0, screen: idle },
    { at: 100, typed: "go on" },
    { at: 150, note: {} },
    { at: 300, screen: working(1) },
    { at: 900, screen: done },
  ];
  const end: Step = { at: 1000, report: { kind: "turn_ended", prompt: "go on", background: work } };

  test("is known with the end that the tool reports, until the screen must show it", () => {
    expect(until(...start)).toBeUndefined();
    expect(until(...start, end)).toEqual(work);
    expect(until(...start, end, { at: 3900, event: "tick" })).toEqual(work);
    expect(until(...start, end, { at: 4100, event: "tick" })).toBeUndefined();
    const next: Step = { at: 1500, report: { kind: "turn_ended", turn_id: "own" } };
    expect(until(...start, end, next)).toBeUndefined();
  });

  test.each<{ name: string; want: string[] }>([
    { name: "background-shell", want: ["1 shell"] },
    { name: "background-agent", want: ["1 background agent", "general-purpose: count things"] },
    { name: "background-over", want: [] },
  ])("is read from the screen $name of claude 2.1.332", ({ name, want }) => {
    const one = loadCorpus().find((recorded) => recorded.version === "2.1.332" && recorded.name === name);
    if (!one) throw new Error(`no recording ${name}`);
    expect(read(observe(one), "claude").signals.background).toEqual(want);
  });
});

describe("a reported end beside a screen", () => {
  const cases: {
    id: string;
    screen: typeof idle;
    mode?: string;
    report?: "failed" | "none";
    ageMs?: number;
    heldMs?: number;
    want: object;
  }[] = [
    { id: "idle: over at once", screen: done, want: over("success") },
    { id: "no report: the screen alone", screen: done, report: "none", want: { by: "screen" } },
    {
      id: "a question",
      screen: demoDialog("May I?", ["Yes", "No"], 1),
      want: { by: "neither", because: "a question is on the screen" },
    },
    { id: "a draft", screen: draft, want: { by: "neither", because: "the composer holds a draft" } },
    {
      id: "a shell line",
      screen: done,
      mode: "shell",
      want: { by: "neither", because: "the composer is in shell mode" },
    },
    {
      id: "held input",
      screen: demoScreen({ transcript: ["> hi"], queued: ["and"] }),
      want: { by: "neither", because: "the tool holds submitted input" },
    },
    {
      id: "an interrupted turn",
      screen: interrupted,
      want: { by: "neither", because: "the screen shows an interrupted turn" },
    },
    {
      id: "work that moves",
      screen: working(3),
      ageMs: 2000,
      heldMs: 500,
      want: { by: "neither", because: "the screen shows work: status_row", givenUp: false },
    },
    {
      id: "work that stands still is a left-over",
      screen: working(3),
      ageMs: 1000,
      heldMs: 9000,
      want: over("success", true),
    },
    {
      id: "work that stood still before the report may only be slow",
      screen: working(3),
      ageMs: 100,
      heldMs: 9000,
      want: { by: "neither" },
    },
    {
      id: "work for too long: the report counts no more",
      screen: working(3),
      ageMs: 3000,
      heldMs: 0,
      want: { by: "neither", givenUp: true },
    },
    { id: "a failure on the screen", screen: failed, want: over("known_failure") },
    {
      id: "a failure that only the tool reports",
      screen: done,
      report: "failed",
      want: over("known_failure"),
    },
  ];

  test.each(cases)("$id", ({ screen, mode = "prompt", report, ageMs = 0, heldMs = 0, want }) => {
    const result = report === "failed" ? "failed" : "ended";
    const end = report === "none" ? null : ({ result, wallMs: 0, reachedMs: 0 } as const);
    const facts = { end, endAgeMs: ageMs, usable: true, screenHeldMs: heldMs, leftoverMs: 1000 };
    expect(fuseEnd({ ...facts, signals: { ...signalsOf(screen), composerMode: mode } })).toMatchObject(want);
  });

  test.each([
    { name: "refused", result: "unproved" },
    { name: "finished-titled", result: "success" },
    { name: "error-400", result: "known_failure" },
  ] as const)("of a tool that closes a turn with a row: $name is $result", ({ name, result }) => {
    const recording = loadCorpus().find((one) => one.tool === "opencode" && one.name === name);
    if (!recording) throw new Error(`no recording ${name}`);
    const end = { result: "ended", wallMs: 0, reachedMs: 0 } as const;
    const { signals } = read(observe(recording), "opencode");
    const facts = { end, endAgeMs: 0, usable: true, signals, screenHeldMs: 0, leftoverMs: 1000 };
    expect(fuseEnd(facts)).toEqual(over(result));
  });

  test("and a terminal that cannot be read: the screen alone", () => {
    const end = { result: "ended", wallMs: 0, reachedMs: 0 } as const;
    const facts = { end, endAgeMs: 0, screenHeldMs: 0, leftoverMs: 1000 };
    expect(fuseEnd({ ...facts, usable: false, signals: signalsOf(idle) })).toEqual({ by: "screen" });
    expect(fuseEnd({ ...facts, usable: true, signals: null })).toEqual({ by: "screen" });
  });
});

/** A prompt `hi` that was typed and submitted at 100. */
const submitted: Step[] = [
  { at: 0, screen: idle },
  { at: 100, typed: "hi" },
  { at: 130, note: { sawActivity: false } },
];
const taken: Step = { at: 140, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t1" } };
const ended = (at: number, parts: object = {}): Step => ({
  at,
  report: { kind: "turn_ended", turn_id: "t1", ...parts },
});
const settled = { phase: "ready", stable: true, witness: "tool", promptReady: true };
const running = { phase: "active", promptReady: false };

describe("a turn that the tool reports", () => {
  test("is over and its agent ready at once when the screen is idle, and the screen says so, too, a second later", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0), expect: running },
      { at: 900, screen: done, expect: { phase: "ready", stable: false, promptReady: false } },
      { ...ended(950), expect: { ...settled, result: "success", source: "explicit_input" } },
      { at: 960, screen: done, expect: { ...settled, result: "success" } },
      {
        at: 2000,
        screen: done,
        expect: { stable: true, witness: "both", result: "success", promptReady: true },
      },
    ]);
  });

  test("is over when the screen that lags behind its report comes to rest", () => {
    const state = play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { ...ended(900), expect: running },
      { at: 950, screen: working(1), expect: running },
      { at: 1000, screen: done, expect: { ...settled, result: "success" } },
    ]);
    expect(nextDeadlineMs(state, defaultTimings)).toBe(2000);
  });

  test("keeps its result while the tool paints its last rows", () => {
    const more = demoScreen({ transcript: ["> hi", "* ok", "— done in 2s —", "tip"] });
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { at: 900, screen: demoScreen({ transcript: ["> hi", "* ok"] }) },
      { ...ended(950), expect: { ...settled, result: "success" } },
      { at: 1000, screen: more, expect: { ...settled, result: "success" } },
    ]);
  });

  test("is over though its end is reported before its begin", () => {
    play([
      ...submitted,
      { at: 200, screen: working(0) },
      { ...ended(800), expect: running },
      { at: 820, screen: done, expect: { promptReady: false } },
      { ...taken, at: 850, expect: { ...settled, result: "success" } },
    ]);
  });

  test("is over before it was noted, and ready once it is", () => {
    play([
      { at: 0, screen: idle },
      { at: 100, typed: "hi" },
      taken,
      ended(150),
      { at: 160, screen: done, expect: { stable: false } },
      { at: 170, note: { sawActivity: true }, expect: { phase: "active" } },
      { at: 180, screen: done, expect: { ...settled, result: "success" } },
    ]);
  });

  test("is known by its text where its begin is not reported and its end has another id", () => {
    play([
      ...submitted,
      { at: 200, screen: working(0) },
      { at: 800, screen: done },
      {
        at: 810,
        report: { kind: "turn_ended", session_id: "titles", prompt: "a title", turn_id: "x" },
        expect: { stable: false },
      },
      { ...ended(820, { prompt: "hi" }), expect: { ...settled, result: "success" } },
    ]);
  });

  test("failed although the screen shows no failure", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { at: 900, screen: done },
      {
        at: 910,
        report: { kind: "turn_failed", turn_id: "t1" },
        expect: { ...settled, result: "known_failure" },
      },
    ]);
  });

  test("leaves a status row behind: over once that has not changed for a second", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      ended(300),
      { at: 1299, event: "tick", expect: running },
      { at: 1300, event: "tick", expect: { ...settled, recovery: "reported_end", result: "success" } },
      { at: 1400, screen: working(1), expect: running },
    ]);
  });

  test("is left to the screen alone when that shows work for three seconds after the report", () => {
    const works = [300, 900, 1500, 2100, 2700, 3300].map(
      (at): Step => ({ at, screen: working(at / 100), expect: running }),
    );
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      ended(250),
      ...works,
      { at: 3400, screen: done, expect: { stable: false, promptReady: false } },
      { at: 4399, event: "tick", expect: { stable: false } },
      { at: 4400, event: "tick", expect: { result: "success", stable: false } },
      { at: 5400, event: "tick", expect: { stable: true, witness: "screen", result: "success" } },
    ]);
  });

  test("goes on when work is reported after its end", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      ended(300),
      { at: 320, report: { kind: "tool_started", turn_id: "t1", action: "Bash" } },
      { at: 400, screen: done, expect: { stable: false } },
    ]);
  });

  test("ends the readiness that the tool reported when a person begins to type", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { at: 900, screen: done },
      { ...ended(910), expect: settled },
      { at: 1000, screen: draft, expect: { stable: false, promptReady: false } },
      { at: 1100, screen: done, expect: { stable: false, promptReady: false } },
    ]);
  });

  test("ends the readiness of the turn before it, though the screen does not show it yet", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { at: 900, screen: done },
      { ...ended(910), expect: settled },
      {
        at: 950,
        report: { kind: "prompt_submitted", prompt: "of a person", turn_id: "t2" },
        expect: { stable: false },
      },
    ]);
  });
});

test("a turn that the tool reported to have begun outlasts an unmoving busy screen six times as long", () => {
  const state = play([
    { at: 0, screen: idle },
    { at: 2000, typed: "hi" },
    { at: 2100, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t1" } },
    { at: 2200, note: {} },
    { at: 2300, screen: working(0), expect: { phase: "active" } },
    { at: 122_299, event: "tick", expect: { phase: "active", recovery: null } },
  ]);
  expect(nextDeadlineMs(state, defaultTimings)).toBe(122_300);
  play([{ at: 122_300, event: "tick", expect: { phase: "ready", recovery: "final_stable" } }], state);
});

describe("a turn that the tool reported to have begun, on a screen without a sign of work", () => {
  /** Words of an answer whose prompt has scrolled away; no status row, no title, no footer. */
  const speaking = (words: number) => demoScreen({ transcript: [`* ${"word ".repeat(words).trim()}`] });
  const begun: Step[] = [...submitted, taken, { at: 200, screen: working(0), expect: running }];
  const byReport = { phase: "active", reasons: ["reported_turn"], ready: "no", promptReady: false };

  test("runs until the tool reports its end", () => {
    play([
      ...begun,
      { at: 2000, screen: speaking(4), expect: byReport },
      { at: 3500, screen: speaking(5), expect: byReport },
      { at: 5100, event: "tick", expect: byReport },
      { at: 19_000, screen: speaking(9), expect: byReport },
      { ...ended(19_100), expect: { ...settled, result: "success", reasons: [] } },
    ]);
  });

  test.each([
    { id: "its closing row", screen: done, expect: { phase: "ready", reasons: [] } },
    { id: "an interruption", screen: interrupted, expect: { phase: "ready", result: "interrupted" } },
    { id: "a failure", screen: failed, expect: { phase: "ready", result: "known_failure" } },
    { id: "a prompt that came back as a draft", screen: draft, expect: { reasons: [] } },
  ])("is over by $id alone", ({ screen, expect }) => {
    play([...begun, { at: 2000, screen, expect }]);
  });

  test("is over when nothing has moved for as long as on any other screen", () => {
    const state = play([
      ...begun,
      { at: 2000, screen: speaking(4) },
      { at: 21_999, event: "tick", expect: byReport },
    ]);
    expect(nextDeadlineMs(state, defaultTimings)).toBe(22_000);
    const over = play(
      [{ at: 22_000, event: "tick", expect: { phase: "ready", recovery: "final_stable" } }],
      state,
    );
    play(
      [
        { at: 23_100, event: "tick", expect: { phase: "ready", stable: true } },
        { at: 23_200, screen: speaking(5), expect: { phase: "ready", reasons: [] } },
      ],
      over,
    );
  });

  /** A row below the composer that no rule reads shows the time. */
  const clocked = (from: number, to: number): Step[] =>
    Array.from({ length: (to - from) / 1000 }, (_, second) => ({
      at: from + second * 1000,
      screen: demoScreen({ transcript: ["* word word"], footer: `${look.footer} · ${second} s` }),
    }));

  test("is over after two minutes in which nothing but a clock below the composer moves", () => {
    const running = play([...begun, ...clocked(2000, 121_000)]);
    expect(summary(running)).toMatchObject({ ...byReport, recovery: null });
    expect(nextDeadlineMs(running, defaultTimings)).toBeLessThanOrEqual(122_000);
    const over = play(clocked(122_000, 130_000), running);
    expect(summary(over)).toMatchObject({ phase: "ready", reasons: [], promptReady: true });
    expect(over.reports.doubts).toContainEqual(
      expect.objectContaining({ doubt: expect.stringContaining("begin") }),
    );
    // Its end may still be reported, and the next turn is another one.
    play([{ ...ended(131_000), expect: { phase: "ready" } }], over);
  });

  test("runs on while its transcript grows beside such a clock", () => {
    const growing = Array.from(
      { length: 30 },
      (_, turn): Step => ({ at: 2000 + turn * 10_000, screen: speaking(turn + 1) }),
    );
    expect(summary(play([...begun, ...growing]))).toMatchObject(byReport);
  });

  test("is over on a screen whose title says that the tool is idle", () => {
    const recording = loadCorpus().find((one) => one.tool === "claude" && one.name === "busy-vim-scrolled");
    if (!recording) throw new Error("no recording");
    const { signals } = read(observe(recording), "claude");
    expect(leavesRoomForTurn(signals)).toBe(true);
    expect(leavesRoomForTurn({ ...signals, title: "idle" })).toBe(false);
  });

  test("is not asked about where a tool closes its turns without a row", () => {
    const recording = loadCorpus().find((one) => one.tool === "gemini" && one.name === "finished");
    if (!recording) throw new Error("no recording");
    expect(leavesRoomForTurn(read(observe(recording), "gemini").signals)).toBe(false);
  });

  test.each([
    { name: "busy-vim-scrolled", room: true },
    { name: "finished-vim-scrolled", room: false },
  ])("claude 2.1.332 in vim mode, its title off and its prompt out of sight: $name", ({ name, room }) => {
    const recording = loadCorpus().find((one) => one.tool === "claude" && one.name === name);
    if (!recording) throw new Error(`no recording ${name}`);
    expect(leavesRoomForTurn(read(observe(recording), "claude").signals)).toBe(room);
  });
});

describe("a report that does not end the turn", () => {
  const idleNow: Step = { at: 900, screen: done };
  const notReady = { stable: false, promptReady: false };
  const cases: { id: string; steps: Step[] }[] = [
    { id: "is of another session", steps: [taken, ended(400, { session_id: "nested" }), idleNow] },
    { id: "is of another turn", steps: [taken, ended(400, { turn_id: "t0" }), idleNow] },
    { id: "is of a turn that began before ours", steps: [ended(300, { turn_id: "t0" }), idleNow] },
    {
      id: "names another text than ours",
      steps: [
        { at: 140, report: { kind: "prompt_submitted", prompt: "ho", turn_id: "t9" } },
        ended(400, { turn_id: "t9" }),
        idleNow,
      ],
    },
    {
      id: "is of the same text, from before we typed it",
      steps: [
        { at: 140, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t0", at_ms: 1_000_050 } },
        ended(400, { turn_id: "t0" }),
        idleNow,
      ],
    },
    { id: "has neither id nor text and no begin", steps: [ended(400, { turn_id: null }), idleNow] },
    { id: "is of before this gateway looked", steps: [taken, ended(400, { at_ms: 999_000 }), idleNow] },
  ];

  test.each(cases)("$id", ({ steps }) => {
    const state = play([...submitted, { at: 150, screen: working(0) }, ...steps]);
    expect(state.stability.stable).toBe(false);
    play([{ at: 950, screen: done, expect: notReady }], state);
  });

  test("comes twice, the second time in the next turn", () => {
    play([
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      { at: 300, screen: done },
      { ...ended(310), expect: settled },
      { at: 1000, typed: "hi" },
      { at: 1010, note: {} },
      { at: 1020, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t2" } },
      { at: 1030, screen: working(0), expect: running },
      ended(1040, { at_ms: 1_000_310 }),
      ended(1050),
      { at: 1060, screen: done, expect: notReady },
      { ...ended(1070, { turn_id: "t2" }), expect: settled },
    ]);
  });

  test("comes late, without an id, in the next turn", () => {
    play([
      ...submitted,
      { ...taken, report: { kind: "prompt_submitted", prompt: "hi" } },
      { at: 200, screen: working(0) },
      { at: 300, screen: done },
      { at: 1400, screen: done, expect: { result: "success", stable: false } },
      { at: 2400, screen: done, expect: { stable: true, witness: "screen" } },
      { at: 2500, typed: "ho" },
      { at: 2510, note: {} },
      { at: 2520, report: { kind: "prompt_submitted", prompt: "ho" } },
      { at: 2530, screen: working(0), expect: running },
      ended(2540, { turn_id: null }),
      { at: 2550, screen: done, expect: notReady },
      { ...ended(2560, { turn_id: null }), expect: settled },
    ]);
  });
});

describe("the session in the pane", () => {
  const begins = (at: number, session_id: string): Step => ({
    at,
    report: { kind: "session_started", session_id },
  });
  const takenIn = (session_id: string): Step => ({
    at: 140,
    report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t1", session_id },
  });

  test("is the one that began last outside a turn", () => {
    const state = play([begins(0, "main"), { at: 10, screen: idle }, begins(20, "second")]);
    expect(state.reports.sessionId).toBe("second");
  });

  test("is not one that begins in the middle of a turn", () => {
    const state = play([
      begins(0, "main"),
      ...submitted,
      taken,
      { at: 200, screen: working(0) },
      begins(300, "nested"),
    ]);
    expect(state.reports.sessionId).toBe("main");
    expect(state.reports.doubts.at(-1)?.doubt).toContain("in the middle of a turn");
  });

  test("is one that takes exactly the text that we typed", () => {
    const state = play([begins(0, "main"), ...submitted, takenIn("second")]);
    expect(state.reports).toMatchObject({ sessionId: "second", typed: { taken: true } });
  });

  test("is the next one that begins once it has ended, also in the middle of our command", () => {
    const over: Step = { at: 140, report: { kind: "session_ended" } };
    const state = play([begins(0, "main"), ...submitted, over, begins(150, "second")]);
    expect(state.reports.sessionId).toBe("second");
  });
});

describe("a question that the tool reported", () => {
  const of = (at: number, kind: ToolReport["kind"], parts: Partial<ToolReport> = {}) => ({
    at,
    report: { kind, turn_id: "t1", action: "Bash", ...parts },
  });
  const asked = of(300, "question_asked", { message: "touch it" });
  const cases: { id: string; steps: Step[]; stands: boolean }[] = [
    {
      id: "outlasts a late report of its own action",
      steps: [taken, asked, of(310, "tool_started")],
      stands: true,
    },
    {
      id: "outlasts a late report of its own turn",
      steps: [asked, of(310, "prompt_submitted", { prompt: "hi", action: null })],
      stands: true,
    },
    {
      id: "outlasts a late report of its own turn that has no id",
      steps: [
        { ...asked, report: { ...asked.report, turn_id: null } },
        of(310, "prompt_submitted", { prompt: "hi", action: null, turn_id: null }),
      ],
      stands: true,
    },
    {
      id: "is answered when another action begins",
      steps: [taken, asked, of(310, "tool_started", { action: "Read" })],
      stands: false,
    },
    {
      id: "is answered when its action begins again long after",
      steps: [taken, asked, of(20_000, "tool_started")],
      stands: false,
    },
    {
      id: "is answered when its action is done",
      steps: [taken, asked, of(310, "tool_finished")],
      stands: false,
    },
    { id: "is over with its turn", steps: [taken, asked, of(310, "turn_ended")], stands: false },
    {
      id: "is over when another turn begins",
      steps: [taken, asked, of(310, "prompt_submitted", { prompt: "ho", turn_id: "t2" })],
      stands: false,
    },
  ];
  test.each(cases)("$id", ({ steps, stands }) => {
    const { question } = play([...submitted, ...steps]).reports;
    expect(question?.message ?? null).toBe(stands ? "touch it" : null);
  });
});

describe("the text that a tool reports", () => {
  const key = keyOfText(" !ls\tdone ");
  const cases = [
    { id: "as it was typed", text: " !ls\tdone " },
    { id: "without the blanks around it", text: "!ls\tdone" },
    { id: "with a line break behind it", text: " !ls\tdone\n" },
    { id: "with blanks for a tab", text: "!ls    done" },
  ];
  test.each(cases)("is ours $id", ({ text }) => {
    const state = play([
      { at: 0, screen: idle },
      { at: 100, typed: " !ls\tdone " },
      { at: 110, report: { kind: "prompt_submitted", prompt: text } },
    ]);
    expect(state.reports.typed).toMatchObject({ key, taken: true });
  });

  test("is ours by its digest alone when it was cut", () => {
    const whole = "word ".repeat(20_000);
    const prompt_sha256 = new Bun.CryptoHasher("sha256").update(whole.trimEnd()).digest("hex");
    const state = play([
      { at: 0, screen: idle },
      { at: 100, typed: whole },
      { at: 110, report: { kind: "prompt_submitted", prompt: whole.slice(0, 65_536), prompt_sha256 } },
    ]);
    expect(state.reports.typed?.taken).toBe(true);
  });

  test("is another's when a word differs, and that is remembered", () => {
    const state = play([
      { at: 0, screen: idle },
      { at: 100, typed: "do it" },
      { at: 110, report: { kind: "prompt_submitted", prompt: "do  it" } },
    ]);
    expect(state.reports.typed).toMatchObject({ taken: false, otherTaken: true });
  });
});
