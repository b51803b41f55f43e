import { describe, expect, test } from "bun:test";
import { clockTime } from "../../../src/console/browser/browser.ts";
import { brief, duration, lastLine, relative } from "../../../src/console/state/format.ts";
import { matchScore, search } from "../../../src/console/state/match.ts";
import { factsInWords } from "../../../src/console/state/readiness.ts";
import { formatRoute, parseRoute, type Route } from "../../../src/console/state/route.ts";
import { applyScreen, gridWindow, lastRows, noScreen } from "../../../src/console/state/screen.ts";
import type { ScreenEvent } from "../../../src/protocol/console.ts";

describe("addresses", () => {
  const routes: Route[] = [
    { screen: "needs-you", item: null },
    { screen: "needs-you", item: "a/b c" },
    { screen: "wall", text: "x y", tool: "claude", host: "build-3", state: "waits" },
    { screen: "agent", agent: "id", tab: "terminal" },
    { screen: "agent", agent: "id", tab: "queue" },
    { screen: "mail", agent: "id", thread: "<t@x>" },
    { screen: "timeline", agent: null, at: null },
    { screen: "timeline", agent: "id", at: 1_795_000_000_000 },
  ];
  test.each(routes)("%j is its own address", (route) =>
    expect(parseRoute(formatRoute(route))).toEqual(route),
  );
  test.each(["", "#/", "#/nothing/here", "#/%", "#needs-you"])("%j is home", (fragment) =>
    expect(parseRoute(fragment)).toEqual({ screen: "needs-you", item: null }),
  );
  test("a moment that is none is now", () => {
    expect(parseRoute("#/timeline?at=x")).toEqual({ screen: "timeline", agent: null, at: null });
  });
});

test.each([
  [0, "0"],
  [950, "950"],
  [1_000, "1k"],
  [12_345, "12.3k"],
  [123_456, "123k"],
  [999_960, "1M"],
  [4_560_000, "4.6M"],
])("%d tokens are %s", (tokens, want) => expect(brief(tokens)).toBe(want));

test.each([
  ["stability.stable=false", "Its screen has not been still for long enough."],
  ["not_ready: turn.phase=active, ready_posture=no", "A turn runs. It does not show its prompt."],
  ["surface.age=old", "surface age is old"],
  ["editing_input=unknown", "Its screen does not say whether somebody types into it."],
  [
    "until 2026-11-25T15:55:37.933+00:00 at most",
    `until ${clockTime(Date.UTC(2026, 10, 25, 15, 55, 37))} at most`,
  ],
  ["the agent asks: yes or no?", "the agent asks: yes or no?"],
  ["", ""],
])("%j keeps a prompt back as %j", (detail, want) => expect(factsInWords(detail)).toBe(want));

describe("times", () => {
  test.each([
    [0, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [90_000, "1 min"],
    [7_500_000, "2 h 5 min"],
    [90_000_000, "1 d 1 h"],
    [-5, "0 s"],
  ])("%d ms is %s", (ms, want) => expect(duration(ms)).toBe(want));
  test("past, present and future", () => {
    expect(relative(0, 4_000)).toBe("just now");
    expect(relative(0, 60_000)).toBe("1 min ago");
    expect(relative(60_000, 0)).toBe("in 1 min");
  });
  test("the last line of an answer is the last with something to see", () =>
    expect(lastLine("a\n  b \n\n ")).toBe("b"));
});

describe("finding by a few letters", () => {
  test("the beginning of a name, of a word, anywhere, letters in order", () => {
    const scores = ["build", "re-build", "rebuild", "b-u-i-l-x-d"].map(
      (name) => matchScore("build", name) ?? 0,
    );
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(matchScore("zz", "build")).toBeNull();
  });
  test("every word counts; at most so many", () => {
    const entries = ["stop atlas", "stop bruno", "open atlas"];
    expect(search("atl st", entries, (entry) => entry, 5)).toEqual(["stop atlas"]);
    expect(search("", entries, (entry) => entry, 2)).toHaveLength(2);
  });
  test("nothing typed: the order of the entries, whatever their names are", () => {
    const entries = ["a long name", "b"];
    expect(search(" ", entries, (entry) => entry, 5)).toEqual(entries);
  });
});

describe("pictures of screens", () => {
  const update = (whole: boolean, revision: number, rows: [number, string][]): ScreenEvent => ({
    kind: "screen",
    agent_id: "a",
    at_utc: "2026-11-23T10:00:00+00:00",
    epoch: 1,
    revision,
    whole,
    width: 80,
    height: 24,
    cursor: null,
    rows: rows.map(([row, text]) => ({ row, runs: text === "" ? [] : [{ text }] })),
  });
  const texts = (events: ScreenEvent[], most: number) =>
    lastRows(events.reduce(applyScreen, noScreen), most).map(({ runs }) =>
      runs.map(({ text }) => text).join(""),
    );
  const first = update(true, 1, [
    [0, "top"],
    [1, "middle"],
    [3, "bottom"],
  ]);
  test("the last rows that are not blank, blank ones between them", () => {
    expect(texts([first], 3)).toEqual(["middle", "", "bottom"]);
  });
  test("rows that are not named stay; a row without runs is blank", () => {
    expect(
      texts(
        [
          first,
          update(false, 2, [
            [3, ""],
            [1, "changed"],
          ]),
        ],
        8,
      ),
    ).toEqual(["top", "changed"]);
  });
  test("a whole picture forgets the earlier one", () => {
    expect(texts([first, update(true, 3, [[5, "new"]])], 2)).toEqual(["", "new"]);
  });
  test("no picture says why", () => {
    const absent = { kind: "screen_absent" as const, agent_id: "a", at_utc: "", reason: "It ended." };
    expect(applyScreen(applyScreen(noScreen, first), absent)).toMatchObject({
      absent: "It ended.",
      revision: 0,
    });
  });
});

describe("the window of the wall", () => {
  const grid = { count: 100, widthPx: 1_100, heightPx: 800, tileWidthPx: 260, tileHeightPx: 252, gapPx: 14 };
  test("draws what is visible and a row around it", () => {
    expect(gridWindow({ ...grid, scrollPx: 0 })).toEqual({
      columns: 4,
      from: 0,
      to: 20,
      totalPx: 6_636,
      offsetPx: 0,
    });
    expect(gridWindow({ ...grid, scrollPx: 2_660 })).toMatchObject({ from: 36, to: 60, offsetPx: 2_394 });
  });
  test("on a phone one column, and never beyond the end", () => {
    expect(gridWindow({ ...grid, widthPx: 360, scrollPx: 99_999 })).toMatchObject({ columns: 1, to: 100 });
    expect(gridWindow({ ...grid, count: 0, scrollPx: 0 })).toMatchObject({ from: 0, to: 0, totalPx: 0 });
  });
});
