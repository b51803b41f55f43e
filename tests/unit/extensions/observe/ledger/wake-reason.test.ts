import { expect, test } from "bun:test";
import {
  decideWake,
  type GivenPrompt,
  wakeOfRequest,
} from "../../../../../src/services/extensions/observe/ledger/wake-reason.ts";
import { keyOfText } from "../../../../../src/services/terminal/keys.ts";

const watchedSinceMs = 100_000;
const given = (text: string, atMs: number, requestId: string | null = null): GivenPrompt => ({
  key: keyOfText(text),
  atMs,
  reason: wakeOfRequest(requestId, requestId === null ? null : "submit_prompt"),
  requestId,
});
const turn = (text: string | null, startedMs: number | null) => ({
  startedMs,
  promptKey: text === null ? null : keyOfText(text),
});

test.each([
  {
    id: "its own prompt",
    turn: turn("go on", 200_000),
    given: [given("go on", 199_000, "r")],
    want: ["prompt", "r"],
  },
  {
    id: "the newest of several with the same text",
    turn: turn("go on", 200_000),
    given: [given("go on", 150_000, "one"), given("go on", 198_000, "two"), given("go on", 300_000, "later")],
    want: ["prompt", "two"],
  },
  {
    id: "a tool whose clock is ahead",
    turn: turn("a", 200_000),
    given: [given("a", 203_000, "r")],
    want: ["prompt", "r"],
  },
  {
    id: "another text",
    turn: turn("a", 200_000),
    given: [given("b", 199_000, "r")],
    want: ["by_hand", undefined],
  },
  {
    id: "a prompt of hours ago",
    turn: turn("a", 9_000_000),
    given: [given("a", 199_000)],
    want: ["by_hand", undefined],
  },
  { id: "a turn that no gateway saw", turn: turn("a", 50_000), given: [], want: ["unknown", undefined] },
  {
    id: "a turn without a time",
    turn: turn("a", null),
    given: [given("a", 1)],
    want: ["unknown", undefined],
  },
  { id: "a turn without a prompt", turn: turn(null, 200_000), given: [], want: ["unknown", undefined] },
])("the reason of a turn: $id", ({ turn, given, want }) => {
  const wake = decideWake(turn, given, watchedSinceMs);
  expect([wake.reason, wake.given?.requestId]).toEqual(want as never);
});
