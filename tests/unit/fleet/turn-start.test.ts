import { expect, test } from "bun:test";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";
import { turnStartOf } from "../../../src/services/fleet/fleet-reader.ts";

const request = (kind: string, ...steps: string[]) =>
  ({
    request_kind: kind,
    evidence: steps.map((step, index) => ({ step, at_utc: `${step}-${index}`, proof: "" })),
  }) as unknown as RequestRecord;
const prompt = (...steps: string[]) => request("submit_prompt", ...steps);

test.each([
  { id: "no request", newestFirst: [], want: null },
  {
    id: "a prompt whose turn began",
    newestFirst: [prompt("accepted", "turn_started")],
    want: "turn_started-1",
  },
  { id: "one whose turn ended", newestFirst: [prompt("turn_started", "turn_ended")], want: null },
  {
    id: "prompts and an interrupt that wait behind it",
    newestFirst: [request("interrupt", "accepted"), prompt("accepted"), prompt("turn_started")],
    want: "turn_started-0",
  },
  {
    id: "a turn that ended after one whose end nobody saw",
    newestFirst: [prompt("turn_started", "turn_ended"), prompt("turn_started")],
    want: null,
  },
])("the start of the turn that runs: $id", ({ newestFirst, want }) => {
  expect(turnStartOf(newestFirst)).toBe(want);
});
