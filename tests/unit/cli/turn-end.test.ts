import { expect, test } from "bun:test";
import { badEndOf } from "../../../src/cli/agent/turn-end.ts";
import type { TranscriptTurn } from "../../../src/protocol/transcript.ts";

type Status = TranscriptTurn["status"];
const turn = (status: Status, error: string | null = null) => ({ status, error });
const ended = (proof: string) => ({
  evidence: [{ step: "turn_ended" as const, proof, at_utc: "2026-11-27T00:00:00.000+00:00" }],
});
const limit = { notice: "usage limit reached", until: null };
const limited = { result: "limit", detail: "limit: usage limit reached" };

test.each([
  { id: "a success", proof: "ready again: success", turn: turn("completed"), want: null },
  { id: "an unknown end", proof: "ready again", turn: turn("unknown"), want: null },
  {
    id: "a failure that the record has",
    proof: "ready again",
    turn: turn("failed", "no model"),
    want: { result: "failed", detail: "failed: no model" },
  },
  {
    id: "a failure that the screen shows",
    proof: "ready again: known_failure",
    turn: turn("unknown"),
    want: { result: "failed", detail: "failed" },
  },
  {
    id: "an interruption, with an answer",
    proof: "ready again: interrupted",
    turn: turn("unknown"),
    want: { result: "interrupted", detail: "interrupted" },
  },
  {
    id: "an interruption without an answer",
    proof: "ready again: interrupted",
    turn: null,
    want: { result: "interrupted", detail: "interrupted" },
  },
  {
    id: "an interruption that the record has",
    proof: "ready again: known_failure",
    turn: turn("interrupted"),
    want: { result: "interrupted", detail: "interrupted" },
  },
  { id: "a limit on the screen", proof: "ready again", turn: turn("unknown"), limit, want: limited },
  { id: "a limit that failed the turn", proof: "ready again", turn: turn("failed"), limit, want: limited },
  { id: "a success before the limit", proof: "ready again", turn: turn("completed"), limit, want: null },
  {
    id: "an error on the screen that the turn survived",
    proof: "ready again: known_failure",
    turn: turn("completed"),
    want: null,
  },
])("$id", ({ proof, turn, limit = null, want }) => {
  expect(badEndOf(ended(proof), turn, limit)).toEqual(want as ReturnType<typeof badEndOf>);
});
