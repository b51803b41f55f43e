import { describe, expect, test } from "bun:test";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { type Observation, parseScreen, type Row } from "../../../src/services/terminal/screen.ts";
import { compiled, loadCorpus, observe, type Recording } from "./corpus.ts";

const corpus = loadCorpus();
const recorded = (tool: string, name: string, version?: string): Recording => {
  const found = corpus.find(
    (one) => one.tool === tool && one.name === name && (version ?? one.version) === one.version,
  );
  if (!found) throw new Error(`no recording ${tool} ${name}`);
  return found;
};
const surface = (seen: Observation, tool: string) => detect(seen, compiled(tool)).surface;
const withRows = (seen: Observation, change: (rows: readonly Row[]) => readonly Row[]): Observation => {
  const rows = change(seen.rows);
  return { ...seen, rows, pane: { ...seen.pane, height: rows.length } };
};
const replaceText = (raw: string, tool: string, from: string, to: string, column?: number): Observation => {
  const recording = recorded(tool, "ready");
  return observe({
    ...recording,
    raw: raw.replace(from, to),
    ...(column === undefined ? {} : { cursor_column: column }),
  });
};

describe("a placeholder is known by two of words, style and cursor", () => {
  const { raw } = recorded("gemini", "ready");
  const words = "Type your message or @path/to/file";
  const grey = "38;2;175;175;175m\x1b[48;2;95;95;95m Type";
  test.each([
    { id: "all three", seen: replaceText(raw, "gemini", "", ""), editing: "no" },
    { id: "other words", seen: replaceText(raw, "gemini", words, "Was soll ich tun?"), editing: "no" },
    {
      id: "another colour",
      seen: replaceText(raw, "gemini", grey, "38;2;250;120;10m\x1b[48;2;95;95;95m Type"),
      editing: "no",
    },
    {
      id: "other words in another colour",
      seen: replaceText(
        raw.replace(words, "Was soll ich tun?"),
        "gemini",
        "38;2;175;175;175m\x1b[48;2;95;95;95m Was",
        "38;2;250;120;10m\x1b[48;2;95;95;95m Was",
      ),
      editing: "yes",
    },
    {
      id: "the cursor behind its first letters",
      seen: replaceText(raw, "gemini", "", "", 7),
      editing: "yes",
    },
  ])("$id", ({ seen, editing }) => {
    expect(surface(seen, "gemini").editing_input).toBe(editing as "yes" | "no");
  });

  test("dim text with the cursor at its end is a draft", () => {
    const ready = recorded("codex", "ready");
    expect(surface(observe({ ...ready, cursor_column: 2 }), "codex").ready_posture).toBe("yes");
    expect(surface(observe({ ...ready, cursor_column: 26 }), "codex")).toMatchObject({
      editing_input: "yes",
      ready_posture: "no",
    });
  });
});

function cutRow(row: Row, width: number): Row {
  let left = width;
  const spans = row.spans.map((span) => {
    const text = span.text.slice(0, left);
    left -= text.length;
    return { ...span, text };
  });
  return { text: row.text.slice(0, width), spans };
}

describe("a panel beside the composer", () => {
  const under = (lines: readonly string[]) =>
    withRows(observe(recorded("codex", "ready")), (rows) => {
      const last = rows.findLastIndex((row) => row.text.trim() !== "");
      return [...rows.slice(0, last), ...parseScreen(lines.join("\n")), ...rows.slice(last + 1)];
    });
  test("columns of keys under it", () => {
    const lines = Array.from({ length: 6 }, (_, nth) => `  wort${nth} wort      taste+${nth} anders`);
    const signals = detect(under(lines), compiled("codex"));
    expect(signals.surface.ready_posture).toBe("unknown");
    expect(signals.surfaceReasons.ready_posture).toBe("a panel is open: columns_below");
  });

  test("a list with a chosen row under it", () => {
    const signals = detect(under(["    eins", "  ❯ zwei", "    drei"]), compiled("codex"));
    expect(signals.surfaceReasons.ready_posture).toBe("a panel is open: list_below");
  });

  test("keys over it, in a pane that cuts all but their first column", () => {
    const recording = recorded("codex", "help-panel");
    const help = observe({
      ...recording,
      title: null,
      raw: recording.raw.replace(" close", " kettle"),
    });
    for (let width = 30; width < 60; width++) {
      const rows = help.rows.map((row) => cutRow(row, width));
      const seen = { ...help, rows, pane: { ...help.pane, width } };
      expect({ width, ready: surface(seen, "codex").ready_posture }).toEqual({ width, ready: "no" });
    }
  });

  // What a command of the tool prints, such as `/status` of codex, stays in the transcript.
  test.each([
    { tool: "codex", name: "finished-titled" },
    { tool: "gemini", name: "finished-titled" },
    { tool: "claude", name: "finished-titled" },
  ])("columns of text in the transcript of $tool are none", ({ tool, name }) => {
    const seen = observe(recorded(tool, name));
    const top = (seen.cursor?.row ?? 0) - 3;
    const printed = parseScreen(
      Array.from({ length: 8 }, (_, nth) => `  Wort${nth}:      wort${nth}       (wort wort)`).join("\n"),
    );
    const rows = [...seen.rows.slice(printed.length, top), ...printed, ...seen.rows.slice(top)];
    const printedOver = withRows(seen, () => rows);
    expect(surface(seen, tool).ready_posture).toBe("yes");
    expect(surface(printedOver, tool)).toMatchObject({ accepting_input: "yes", ready_posture: "yes" });
  });

  test("rows of a footer are none", () => {
    expect(surface(under(["  eins", "  zwei · drei       vier"]), "codex").ready_posture).toBe("yes");
  });
});

describe("a question of claude", () => {
  const decisionOf = (name: string) => detect(observe(recorded("claude", name)), compiled("claude"));
  test("with several choices names its pages, its check marks, what describes an option, and its button", () => {
    const { awaitingDecision, awaitingRule } = decisionOf("decision-pages-next");
    expect(awaitingRule).toBe("question");
    expect(awaitingDecision).toEqual({
      kind: "selection_menu",
      header: "←  ☒ Fruit  ☐ Colour  ✔ Submit  →",
      question: "Which fruits do we buy?",
      options: [
        { index: 1, text: "Apple", selected: false, description: "from the orchard", checked: true },
        { index: 2, text: "Pear", selected: false, description: "from the market", checked: false },
        { index: 3, text: "Plum", selected: false, description: "dried", checked: false },
        { index: 4, text: "Type something", selected: false, checked: false },
        { index: 6, text: "Next", selected: true },
        { index: 5, text: "Chat about this", selected: false },
      ],
    });
  });

  test("with one choice has no button, and its header is the page's", () => {
    const { awaitingDecision } = decisionOf("decision-one");
    expect(awaitingDecision).toMatchObject({
      header: "☐ Colour",
      question: "Which colour shall the door have?",
    });
    expect(awaitingDecision?.options[0]).toEqual({
      index: 1,
      text: "Red",
      selected: true,
      description: "warm, seen from afar",
    });
  });

  test.each(["decision-review", "decision-review-unanswered", "decision-review-answers"])(
    "its last page can be answered: %s",
    (name) => {
      const { awaitingDecision, awaitingRule } = decisionOf(name);
      expect(awaitingRule).toBe("review");
      expect(awaitingDecision?.unread).toBeUndefined();
      expect(awaitingDecision?.options.map(({ text }) => text)).toEqual(["Submit answers", "Cancel"]);
    },
  );
});

test.each([
  ["/home/user/project  main", null],
  ["/review-pr        review a pull request", "/review-pr        review a pull request"],
])("below a draft that begins with a slash, the row %p of Claude Code offers %p", (row, offered) => {
  const recording = recorded("claude", "draft", "2.1.197");
  const lines = recording.raw.replace("draft text not sent", "/review 12").split("\n");
  const border = lines.findIndex((line) => line.includes("/review 12")) + 1;
  const raw = lines.map((line, at) => (at === border + 1 ? `\x1b[0m  ${row}` : line)).join("\n");
  expect(detect(observe({ ...recording, raw }), compiled("claude"))).toMatchObject({ offered });
});

test("a composer with nothing above it is unknown: the row that says that it works may be hidden", () => {
  const ready = observe(recorded("claude", "ready"));
  const top = (ready.cursor?.row ?? 0) - 1;
  const blank = withRows(ready, (rows) => rows.map((row, at) => (at < top ? { text: "", spans: [] } : row)));
  expect(surface(ready, "claude").ready_posture).toBe("yes");
  expect(surface(blank, "claude").ready_posture).toBe("unknown");
});

describe("an answer of claude that no row closes is of a turn that runs", () => {
  // 2.1.150 says that it works in its title and its footer only, while an answer comes in.
  const busy = recorded("claude", "busy", "2.1.150");
  const untold = { ...busy, title: "bash", raw: busy.raw.replace("esc to interrupt", "abc de fghijklmn") };
  test.each([
    { id: "without its words and its title", given: untold, ready: "no", because: ["turn_unfinished"] },
    { id: "an idle title speaks for it", given: { ...untold, title: "✳ topic" }, ready: "yes", because: [] },
    {
      id: "known signs of work are enough",
      given: busy,
      ready: "no",
      because: ["footer_interrupt", "title_busy"],
    },
    {
      id: "a closing row in other words",
      given: { ...untold, raw: untold.raw.replace(/(to the)\n\n/u, "$1\n\n✻ Gekocht seit 1m 4s\n") },
      ready: "yes",
      because: [],
    },
    {
      id: "an interruption closes it",
      given: { ...untold, raw: untold.raw.replace(/(to the)\n/u, "$1\n  ⎿  Interrupted by user\n") },
      ready: "yes",
      because: [],
    },
  ])("$id", ({ given, ready, because }) => {
    const rows = parseScreen(given.raw).length;
    const cursor_row = (busy.cursor_row ?? 0) + rows - busy.rows;
    const seen = observe({ ...given, rows, cursor_row });
    const signals = detect(seen, compiled("claude"));
    expect(signals.surface.ready_posture).toBe(ready as "yes" | "no");
    expect(signals.activeReasons).toEqual([...because]);
  });
});

test("a command that codex refuses in the middle of a turn does not close it", () => {
  const { raw, ...busy } = recorded("codex", "busy-command-refused");
  expect(surface(observe({ ...busy, raw, title: "work" }), "codex").ready_posture).toBe("no");
});

describe("rows that go on from one out of sight", () => {
  const above = (lines: readonly string[], title: string | null) => {
    const ready = observe({ ...recorded("claude", "ready"), title });
    const top = (ready.cursor?.row ?? 0) - 1;
    const rows = parseScreen(lines.join("\n"));
    return withRows(ready, (all) =>
      all.map((row, at) => (at < top ? (rows[at - top + rows.length] ?? { text: "", spans: [] }) : row)),
    );
  };
  test.each([
    { id: "text", lines: ["  the end of an answer"], title: null, ready: "unknown" },
    { id: "text under an idle title", lines: ["  the end of an answer"], title: "✳ topic", ready: "yes" },
    // 2.1.330 shows the idle title over held input; the row of its spinner was out of sight.
    { id: "a marked row under an idle title", lines: ["  ⎿  Hint"], title: "✳ topic", ready: "unknown" },
    { id: "an answer that nothing closes", lines: ["● an answer"], title: null, ready: "no" },
    { id: "one under an idle title", lines: ["● an answer"], title: "✳ topic", ready: "yes" },
    { id: "a closed one", lines: ["● an answer", "✻ Cooked for 2s"], title: null, ready: "yes" },
  ])("$id: $ready", ({ lines, title, ready }) => {
    expect(surface(above(lines, title), "claude").ready_posture).toBe(ready as "yes" | "no" | "unknown");
  });
});

test("a pane of few columns is unknown", () => {
  const seen = observe(recorded("codex", "ready"));
  const narrow = { ...seen, pane: { ...seen.pane, width: 29 } };
  expect(surface(narrow, "codex").ready_posture).toBe("unknown");
});

test("the row of a tool call of gemini 0.60.0 is no panel of keys", () => {
  const finished = recorded("gemini", "finished-titled");
  const row =
    "  \u2713  ReadManyFiles  Attempting to read files from ~/project/README.md \u2192 Read 1 file(s)";
  const answer = finished.raw.lastIndexOf("\n", finished.raw.lastIndexOf("\u2726")) + 1;
  const raw = `${finished.raw.slice(0, answer)}${row}\n${finished.raw.slice(answer)}`;
  const seen = observe({
    ...finished,
    raw,
    rows: finished.rows + 1,
    cursor_row: (finished.cursor_row ?? 0) + 1,
  });
  expect(seen.rows.map(({ text }) => text)).toContain(row);
  expect(detect(seen, compiled("gemini")).surfaceReasons.ready_posture).toBe(
    "an empty composer and no busy fact",
  );
});
