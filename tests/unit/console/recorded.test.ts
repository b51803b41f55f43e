import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/headless";
import {
  choiceOf,
  factsOf,
  joinCasts,
  startOf,
  type TerminalCell,
  toRuns,
  verdictOf,
} from "../../../src/console/state/recorded.ts";
import type { ScreenRun } from "../../../src/protocol/console.ts";
import { runsOf } from "../../../src/services/extensions/console/picture.ts";
import { parseScreen } from "../../../src/services/terminal/screen.ts";
import { chooseCases, matrixChoice } from "../../support/matrix.ts";
import { decision, terminal } from "../../support/recorder-fixture.ts";

/** What the console makes of a recording. */

const screens = join(import.meta.dir, "../../screens");
const recorded = readdirSync(screens, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith("screen.ansi.txt"))
  .sort();

async function emulate(ansi: string, size: { cols: number; rows: number }): Promise<ScreenRun[][]> {
  const emulator = new Terminal({ allowProposedApi: true, ...size, scrollback: 0 });
  emulator.loadAddon(new Unicode11Addon());
  emulator.unicode.activeVersion = "11";
  await new Promise<void>((done) => emulator.write(ansi.replace(/\n$/, "").replaceAll("\n", "\r\n"), done));
  const { active } = emulator.buffer;
  const rows = Array.from({ length: size.rows }, (_, row) => {
    const line = active.getLine(row);
    const cells = Array.from({ length: size.cols }, (_, column) => line?.getCell(column));
    return toRuns(
      cells.filter((cell): cell is NonNullable<typeof cell> & TerminalCell => cell !== undefined),
    );
  });
  emulator.dispose();
  return rows;
}

const textOf = (rows: readonly (readonly ScreenRun[])[]) =>
  rows.map((runs) =>
    runs
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );

describe("a screen of the past is drawn as the server draws a live one", () => {
  test.each(chooseCases(recorded, (path) => path, matrixChoice))("%s", async (path) => {
    const ansi = readFileSync(join(screens, path), "utf8");
    const live = runsOf(parseScreen(ansi));
    const past = await emulate(ansi, { cols: 240, rows: Math.max(live.length, 1) });
    expect(textOf(past)).toEqual(textOf(live));
  });
});

test("colours and styles are those of a live picture", async () => {
  const ansi = "\x1b[1;31mred\x1b[0m \x1b[38;5;200;48;2;1;2;3mmany\x1b[0m \x1b[2;3;4;7mall\x1b[0m  ";
  const [runs] = await emulate(ansi, { cols: 40, rows: 1 });
  expect(runs).toEqual([
    { text: "red", foreground: "palette:1", bold: true },
    { text: " " },
    { text: "many", foreground: "palette:200", background: "#010203" },
    { text: " " },
    { text: "all", dim: true, italic: true, underline: true, inverse: true },
  ]);
});

test("bidi controls are left out, and a wide character is one", async () => {
  const [runs] = await emulate("a\u202eb 界c", { cols: 10, rows: 1 });
  expect(runs).toEqual([{ text: "ab 界c" }]);
});

describe("casts", () => {
  const header = `${JSON.stringify({ version: 2, width: 80, height: 24 })}\n`;

  test("begin with a whole screen", () => {
    const cast = `${header}[0,"o","one"]\n[0,"r","80x24"]\n[0,"o","two"]\n[1.5,"o","three"]\n`;
    expect(startOf(cast)).toEqual({ width: 80, height: 24, screen: "onetwo" });
  });

  test.each(["", "{}", "nothing", '[0,"o","x"]'])("%p is none", (text) => expect(startOf(text)).toBeNull());

  test("in parts become one with one header and times that grow", () => {
    const parts = [
      { fromMs: 1000, cast: `${header}[0,"o","a"]\n[2.5,"o","b"]\n` },
      { fromMs: 4000, cast: `${header}[0,"o","c"]\n[0.25,"m","gap"]\n` },
    ];
    expect(joinCasts(parts)).toBe(`${header}[0,"o","a"]\n[2.5,"o","b"]\n[3,"o","c"]\n[3.25,"m","gap"]\n`);
    expect(joinCasts([])).toBe("");
  });
});

test("the first fact that did not hold kept the agent from being ready", () => {
  const facts = [
    { name: "process_state", value: "tui_up", wanted: "tui_up", holds: true },
    { name: "turn.phase", value: "active", wanted: "ready", holds: false },
    { name: "accepting_input", value: "no", wanted: "yes", holds: false },
  ];
  const busy = terminal({ ready: false, blocking: "turn.phase=active", facts });
  expect(factsOf(busy).map(({ kept, words }) => [kept, words])).toEqual([
    [false, null],
    [true, "A turn runs."],
    [false, "It accepts no input now."],
  ]);
  expect(verdictOf(busy)).toBe("Not ready for a prompt: A turn runs.");
  expect(verdictOf(terminal())).toBe("Ready for a prompt");
  expect(verdictOf(null)).toBe("Nothing is recorded of its terminal");
});

test.each([
  { given: decision(), want: "r-1 waited, not ready: A turn runs." },
  { given: decision({ do: "rest", request_id: null }), want: "Nothing waited." },
  { given: decision({ do: "run" }), want: "r-1 was begun." },
  {
    given: decision({ do: "expire", detail: "of an earlier instance" }),
    want: "r-1 failed: of an earlier instance",
  },
  { given: null, want: "No choice of the queue is recorded." },
])("the choice of the queue in words: $want", ({ given, want }) => expect(choiceOf(given)).toBe(want));
