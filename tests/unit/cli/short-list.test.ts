import { expect, test } from "bun:test";
import { renderAgentList } from "../../../src/cli/short/short-list.ts";

const nowMs = Date.parse("2026-11-29T12:00:00Z");
const row = {
  name: "worker",
  tool: "claude",
  state: "busy",
  sinceMs: nowMs - 12_000,
  queue: "1",
  mail: "-",
  lastTurn: null,
  folder: "/home/ann/project",
  prompt: "why is\nthe build red, and who broke it last night?",
};
const list = (columns: number, change: Partial<Parameters<typeof renderAgentList>[0][number]> = {}) =>
  renderAgentList([{ ...row, ...change }], { nowMs, columns, home: "/home/ann" });

test("an agent is listed with its state, the time since then, its folder and its last prompt", () => {
  expect(list(Number.POSITIVE_INFINITY)).toEqual([
    "NAME    TOOL    STATE  SINCE  QUEUE  MAIL  FOLDER     LAST PROMPT",
    "worker  claude  busy   12s    1      -     ~/project  why is the build red, and who broke it last night?",
  ]);
});

test.each([
  {
    id: "of nothing",
    change: { sinceMs: null, folder: null, prompt: null },
    want: /^worker +claude +busy +- +1 +- +- +-$/,
  },
  {
    id: "at rest since its last turn",
    change: {
      state: "ready",
      sinceMs: null,
      lastTurn: { result: "success", updated_at_utc: "2026-11-29T11:58:00+00:00" },
    },
    want: /ready +2m/,
  },
  { id: "in its home", change: { folder: "/home/ann" }, want: / ~ +why/ },
  { id: "beside that home", change: { folder: "/home/anna" }, want: / \/home\/anna +why/ },
])("an agent $id", ({ change, want }) => {
  expect(list(200, change)[1]).toMatch(want);
});

test.each([
  { columns: 90, header: /TOOL.*MAIL.*LAST PROMPT$/ },
  { columns: 65, header: /^NAME +STATE +SINCE +QUEUE +MAIL +FOLDER +LAST PROMPT$/ },
  { columns: 45, header: /^NAME +STATE +SINCE +QUEUE +FOLDER$/ },
  { columns: 10, header: /^NAME +STATE$/ },
])("at $columns columns the least needed ones are left out, and the prompt is cut", ({ columns, header }) => {
  const lines = list(columns);
  expect(lines[0]).toMatch(header);
  if (columns > 10) for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
});
