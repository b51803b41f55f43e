import { describe, expect, test } from "bun:test";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { observationOf } from "../../../src/services/terminal/detect/explain.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { compiled } from "./corpus.ts";
import { demoDialog, demoScreen } from "./screens.ts";

const values = (observation: Observation, tool = "demo") =>
  Object.values(detect(observation, compiled(tool)).surface)
    .map((value) => value[0])
    .join("");

describe("the value table, in the order accepting, editing, ready, pending", () => {
  test.each([
    { id: "an empty composer is ready", screen: {}, want: "ynyn" },
    { id: "a draft is not ready", screen: { draft: ["half a thought"] }, want: "yynn" },
    { id: "a draft of many rows", screen: { draft: ["one", "", "three"] }, want: "yynn" },
    { id: "a paste chip is a draft", screen: { draft: ["[Pasted #1 · 12 lines]"] }, want: "yynn" },
    { id: "a status row is busy", screen: { busySeconds: 3 }, want: "ynnn" },
    { id: "a draft while busy", screen: { busySeconds: 3, draft: ["next"] }, want: "yynn" },
    { id: "a queued row is pending", screen: { busySeconds: 3, queued: ["later"] }, want: "ynny" },
    {
      id: "a queued row without a status row is pending, and what runs is unknown",
      screen: { queued: ["later"] },
      want: "ynuy",
    },
    { id: "a busy title alone vetoes ready", screen: { title: "⠙ demo: working" }, want: "ynnn" },
    { id: "an idle title adds nothing", screen: { title: "demo: ready" }, want: "ynyn" },
    { id: "a foreign title says nothing", screen: { title: "vim notes.txt" }, want: "ynyn" },
    {
      id: "an idle title does not outvote a status row",
      screen: { busySeconds: 1, title: "demo: ready" },
      want: "ynnn",
    },
    {
      id: "a title that asks for a person leaves ready open",
      screen: { title: "demo: action required" },
      want: "ynun",
    },
    {
      id: "a slash popup leaves ready open",
      screen: { draft: ["/cl"], popup: ["  /clear  clear the session"] },
      want: "yyun",
    },
  ])("$id", ({ screen, want }) => {
    expect(values(demoScreen(screen))).toBe(want);
  });
});

describe("a pane that is too small is named", () => {
  const blank = (width: number, height: number) => {
    const seen = demoScreen({});
    const rows = Array.from({ length: height }, () => ({
      ...(seen.rows[0] as (typeof seen.rows)[0]),
      text: "",
    }));
    return { ...seen, raw: "\n".repeat(height), rows, pane: { ...seen.pane, width, height } };
  };
  test.each([
    { width: 2, height: 1, want: ["pane_size:2x1"] },
    { width: 50, height: 14, want: ["composer_not_found", "pane_size:50x14"] },
    { width: 120, height: 36, want: ["composer_not_found"] },
  ])("$width x $height", ({ width, height, want }) => {
    expect(detect(blank(width, height), compiled("demo")).parsedSurface?.anomaly_codes).toEqual([...want]);
  });

  test("one whose screen can be read is not", () => {
    const seen = demoScreen({});
    const small = { ...seen, pane: { ...seen.pane, width: 60 } };
    expect(detect(small, compiled("demo")).parsedSurface?.anomaly_codes).toEqual([]);
  });
});

test("a tool that was suspended is named, with its process, whatever its screen still shows", () => {
  const seen = demoScreen({});
  const processes = (seen.processes ?? []).map((one) => ({ ...one, isStopped: true as const }));
  const signals = detect({ ...seen, processes }, compiled("demo"));
  expect(signals.parsedSurface?.anomaly_codes).toEqual([`suspended:${processes[0]?.pid}`]);
  expect(signals.surface.accepting_input).toBe("unknown");
});

describe("words in the transcript pin no state", () => {
  test.each([
    {
      id: "a quoted status row above the closing row",
      transcript: ["> hi", "⠋ Working… (3s · esc to interrupt)", "— done in 3s —"],
    },
    {
      id: "a quoted status row inside an answer",
      transcript: ["> hi", "* it shows ⠋ Working… (3s · esc to interrupt)", "— done in 1s —"],
    },
    {
      id: "a quoted queue row that does not touch the composer",
      transcript: ["> hi", "  ⧗ later", "* ok", "— done in 1s —"],
    },
    {
      id: "a quoted menu",
      transcript: [
        "> hi",
        "* Proceed?",
        "❯ 1. Yes",
        "  2. No",
        "enter to choose · esc to cancel",
        "— done in 1s —",
      ],
    },
    {
      id: "an older interruption",
      transcript: ["> hi", "✗ interrupted", "> again", "* ok", "— done in 1s —"],
    },
    { id: "an older error", transcript: ["> hi", "✗ error: no", "> again", "* ok", "— done in 1s —"] },
  ])("$id", ({ transcript }) => {
    const signals = detect(demoScreen({ transcript }), compiled("demo"));
    expect(signals).toMatchObject({
      surface: { ready_posture: "yes", pending_input: "no" },
      interrupted: false,
      knownFailure: false,
      awaitingDecision: null,
      completionMarker: `— done in ${transcript.join().includes("3s —") ? "3s —" : "1s —"}`,
    });
  });
});

describe("the end of a turn", () => {
  test.each([
    {
      id: "interrupted",
      row: "✗ interrupted",
      want: { interrupted: true, knownFailure: false, successCandidate: false },
    },
    {
      id: "failed",
      row: "✗ error: model gone",
      want: {
        interrupted: false,
        knownFailure: true,
        successCandidate: false,
        currentError: "✗ error: model gone",
      },
    },
    {
      id: "done",
      row: "— done in 4s —",
      want: { interrupted: false, knownFailure: false, successCandidate: true },
    },
    {
      id: "parked until a time",
      row: "✗ usage limit reached · resets 15:00",
      want: { parked: { notice: "✗ usage limit reached · resets 15:00", shownTime: "15:00" } },
    },
    {
      id: "parked without a time",
      row: "✗ usage limit reached",
      want: { parked: { notice: "✗ usage limit reached", shownTime: null } },
    },
  ])("$id", ({ row, want }) => {
    expect(detect(demoScreen({ transcript: ["> hi", row] }), compiled("demo"))).toMatchObject(want);
  });

  test("while the tool works none of its banners counts", () => {
    const signals = detect(
      demoScreen({ transcript: ["> hi", "✗ interrupted"], busySeconds: 0 }),
      compiled("demo"),
    );
    expect(signals).toMatchObject({ interrupted: false, activeReasons: ["status_row"] });
  });
});

describe("a question for a person", () => {
  test("is reported with its options and the chosen one", () => {
    const signals = detect(demoDialog("May I delete it?", ["Yes", "No"], 2), compiled("demo"));
    expect(signals.awaitingDecision).toEqual({
      kind: "selection_menu",
      question: "May I delete it?",
      options: [
        { index: 1, text: "Yes", selected: false },
        { index: 2, text: "No", selected: true },
      ],
    });
    expect(signals.parsedSurface).toMatchObject({ business_state: "awaiting_operator", input_mode: "modal" });
  });

  test("trust is a separate kind", () => {
    const signals = detect(demoDialog("Do you trust this folder?", ["Yes", "No"], 1), compiled("demo"));
    expect(signals).toMatchObject({ awaitingRule: "trust", awaitingDecision: { kind: "trust_prompt" } });
  });

  test("two chosen rows are a menu that cannot be read", () => {
    const menu = demoDialog("May I?", ["Yes", "No"], 1);
    const raw = menu.raw.replace("  2. No", "❯ 2. No");
    const signals = detect(
      observationOf({ raw, tool: compiled("demo"), title: null, cursorRow: 4 }),
      compiled("demo"),
    );
    expect(signals).toMatchObject({
      awaitingDecision: {
        question: "May I?",
        options: [],
        unread: "its options could not be read",
        keys: ["Up", "Down", "Enter", "Escape"],
      },
      surface: { ready_posture: "unknown" },
    });
  });
});

describe("what cannot be known", () => {
  const idle = demoScreen();
  test.each([
    {
      id: "no profile",
      observation: idle,
      profile: null,
      state: "unsupported_tool",
      parse: "unsupported_tool",
    },
    {
      id: "a dead pane",
      observation: { ...idle, pane: { ...idle.pane, dead: true } },
      state: "tui_down",
      parse: "skipped_tui_down",
    },
    {
      id: "no process",
      observation: { ...idle, processes: [] },
      state: "tui_down",
      parse: "skipped_tui_down",
    },
    {
      id: "processes that cannot be read",
      observation: { ...idle, processes: null },
      state: "probe_error",
      parse: "probe_error",
    },
    {
      id: "a cursor outside the composer",
      observation: { ...idle, cursor: { row: 0, column: 0 } },
      state: "tui_up",
      parse: "parsed",
    },
    {
      id: "an empty screen",
      observation: { ...idle, rows: [], pane: { ...idle.pane, height: 0 } },
      state: "tui_up",
      parse: "parsed",
    },
  ])("$id reads unknown", ({ observation, profile, state, parse }) => {
    const signals = detect(observation, profile === null ? null : compiled("demo"));
    expect(signals).toMatchObject({ processState: state, parseStatus: parse, activeReasons: [] });
    expect(new Set(Object.values(signals.surface))).toEqual(new Set(["unknown"]));
  });
});
